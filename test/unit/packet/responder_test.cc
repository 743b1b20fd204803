// SPDX-License-Identifier: BSD-3-Clause
//
// What is answered and how, byte for byte, however a packet is cut into segments. Main lcore.

#include "lib/packet/responder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "test/unit/packet/responder_ipv4_rows.h"
#include "test/unit/packet/responder_ipv6_rows.h"
#include "test/unit/packet/responder_row.h"

namespace penstock {
namespace {

constexpr MacAddress kMac{{0x02, 0xaa, 0, 0, 0, 1}};

std::vector<ResponderRow> Rows() {
  std::vector<ResponderRow> rows(std::begin(kIpv4Rows), std::end(kIpv4Rows));
  rows.insert(rows.end(), std::begin(kIpv6Rows), std::end(kIpv6Rows));
  return rows;
}

std::string Hex(const std::string& bytes) { return absl::BytesToHexString(bytes); }

std::string NameOf(Unanswered reason) {
  if (reason == Unanswered::kAnswered) return "answered";
  return std::string(kUnansweredReasons[static_cast<size_t>(reason) - 1].name);
}

class ResponderTest : public testing::Test {
 protected:
  void SetUp() override {
    pool_ =
        rte_pktmbuf_pool_create("responder", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    ASSERT_NE(pool_, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(rte_mempool_in_use_count(pool_), 0u) << "mbufs are lost";
    rte_mempool_free(pool_);
  }

  // `lengths` of the first segments; the rest of the frame is the last one.
  rte_mbuf* Packet(const std::string& frame, const std::vector<size_t>& lengths) {
    rte_mbuf* head = nullptr;
    size_t at = 0;
    for (size_t i = 0; i <= lengths.size(); ++i) {
      const size_t bytes =
          std::min(i < lengths.size() ? lengths[i] : frame.size(), frame.size() - at);
      rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool_);
      std::memset(mbuf->buf_addr, 0xa5, mbuf->buf_len);
      std::memcpy(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(bytes)), frame.data() + at, bytes);
      at += bytes;
      if (head == nullptr) {
        head = mbuf;
      } else {
        EXPECT_EQ(rte_pktmbuf_chain(head, mbuf), 0);
      }
    }
    return head;
  }

  static std::string BytesOf(const rte_mbuf* packet) {
    std::string bytes;
    for (const rte_mbuf* segment = packet; segment != nullptr; segment = segment->next) {
      bytes.append(rte_pktmbuf_mtod(segment, const char*), segment->data_len);
    }
    return bytes;
  }

  // Returns whether the answer is the row's.
  bool Check(const ResponderRow& row, const std::vector<size_t>& lengths) {
    rte_mbuf* const packet = Packet(row.Request(), lengths);
    const Unanswered reason = Responder(kMac).Answer(packet);
    EXPECT_EQ(NameOf(reason), row.answered() ? "answered" : row.answer) << row.why;
    if (row.answered()) {
      EXPECT_EQ(Hex(BytesOf(packet)), Hex(row.Answer())) << row.why;
      EXPECT_EQ(packet->pkt_len, row.Answer().size()) << row.why;
      const char* fault = "";
      EXPECT_EQ(rte_mbuf_check(packet, 1, &fault), 0) << row.why << ": " << fault;
    }
    rte_pktmbuf_free(packet);
    return !HasFailure();
  }

  rte_mempool* pool_ = nullptr;
};

TEST_F(ResponderTest, AnswersOrSaysWhyNot) {
  for (const ResponderRow& row : Rows()) Check(row, {});
}

TEST_F(ResponderTest, EachReasonHasItsRow) {
  std::set<std::string> seen;
  for (const ResponderRow& row : Rows()) seen.insert(row.answer);
  for (const DropReason& reason : kUnansweredReasons) {
    // Of TCP and UDP, seen behind a tag; of an mbuf that is too small; and of long headers: below.
    if (reason.name == "bad_transport_length" || reason.name == "no_room" ||
        reason.name == "beyond_head") {
      continue;
    }
    EXPECT_TRUE(seen.contains(std::string(reason.name))) << reason.name;
  }
}

TEST_F(ResponderTest, SegmentsDoNotMatterWhereverTheyAreCut) {
  for (const ResponderRow& row : Rows()) {
    const size_t bytes = row.Request().size();
    for (size_t cut = 0; cut <= std::min<size_t>(bytes, 140); ++cut) {
      if (!Check(row, {cut})) FAIL() << row.why << ", cut at " << cut;
    }
    for (const size_t piece : {1, 2, 7, 16, 64}) {
      if (!Check(row, std::vector<size_t>(std::min<size_t>(bytes / piece, 200), piece))) {
        FAIL() << row.why << ", in pieces of " << piece;
      }
    }
    if (!Check(row, {0, 14, 0, 0, 20, 0, 8, 0})) FAIL() << row.why << ", with empty segments";
  }
}

const ResponderRow& RowOf(absl::string_view why) {
  static const std::vector<ResponderRow> rows = Rows();
  const auto row = std::ranges::find(
      rows, why, [](const ResponderRow& each) { return absl::string_view(each.why); });
  EXPECT_NE(row, rows.end()) << why;
  return *row;
}

TEST_F(ResponderTest, ATagThatThePortTookOffIsPutBack) {
  const ResponderRow& plain = RowOf("ping");
  rte_mbuf* packet = Packet(plain.Request(), {});
  packet->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
  packet->vlan_tci = 0x6007;
  EXPECT_EQ(Responder(kMac).Answer(packet), Unanswered::kAnswered);
  EXPECT_EQ(Hex(BytesOf(packet)),
            Hex(plain.Answer().insert(12, absl::HexStringToBytes("81006007"))));
  rte_pktmbuf_free(packet);

  packet = Packet(plain.Request(), {});
  packet->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ |
                     RTE_MBUF_F_RX_QINQ_STRIPPED;
  packet->vlan_tci = 6;
  packet->vlan_tci_outer = 5;
  EXPECT_EQ(Responder(kMac).Answer(packet), Unanswered::kAnswered);
  EXPECT_EQ(Hex(BytesOf(packet)),
            Hex(plain.Answer().insert(12, absl::HexStringToBytes("88a8000581000006"))));
  rte_pktmbuf_free(packet);
}

TEST_F(ResponderTest, AnAnswerThatFitsNoMbufIsNone) {
  // A tag to put back, extension headers to take out, and no headroom for it.
  rte_mbuf* packet = Packet(RowOf("ping").Request(), {});
  packet->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
  const std::string bytes = BytesOf(packet);
  packet->data_off = 3;
  std::memcpy(rte_pktmbuf_mtod(packet, char*), bytes.data(), bytes.size());
  EXPECT_EQ(NameOf(Responder(kMac).Answer(packet)), "no_room");
  rte_pktmbuf_free(packet);

  const std::string extended = RowOf("ping -6 behind extension headers, which go").Request();
  packet = Packet(extended, {});
  packet->data_off = 53;
  std::memcpy(rte_pktmbuf_mtod(packet, char*), extended.data(), extended.size());
  EXPECT_EQ(NameOf(Responder(kMac).Answer(packet)), "no_room");
  rte_pktmbuf_free(packet);

  // An advertisement is longer than a solicitation without options.
  const std::string asked = RowOf("neighbour solicitation to one host, without options").Request();
  packet = Packet(asked, {});
  packet->data_off = static_cast<uint16_t>(packet->buf_len - asked.size() - 7);
  std::memcpy(rte_pktmbuf_mtod(packet, char*), asked.data(), asked.size());
  EXPECT_EQ(NameOf(Responder(kMac).Answer(packet)), "no_room");
  rte_pktmbuf_free(packet);
}

// What one segment holds can be looked at whole; of a segmented packet only so much is.
TEST_F(ResponderTest, HeadersBeyondWhatIsLookedAt) {
  std::string frame = RowOf("ping -6").Request();
  // A destination option header of 2040 bytes.
  frame[20] = 60;
  frame.replace(18, 2, absl::HexStringToBytes("0830"));  // 2040 + 56
  std::string option(2040, '\0');
  option[0] = 58;
  option[1] = static_cast<char>(254);
  frame.insert(54, option);
  rte_mbuf* packet = Packet(frame, {1000});
  EXPECT_EQ(NameOf(Responder(kMac).Answer(packet)), "beyond_head");
  rte_pktmbuf_free(packet);
  packet = Packet(frame.substr(0, 2040), {});
  EXPECT_EQ(NameOf(Responder(kMac).Answer(packet)), "bad_length");
  rte_pktmbuf_free(packet);
}

// The time in a Timestamp option is any, marked as such.
TEST_F(ResponderTest, GivesATimeThatIsNotTheDays) {
  std::string frame = RowOf("ping with Record Route").Request();
  frame.replace(34, 12, absl::HexStringToBytes("440c05010000000000000000"));
  // The checksum, which the row's options had part in.
  frame[24] = frame[25] = '\0';
  uint32_t sum = 0;
  for (size_t i = 14; i < 46; i += 2) {
    sum += static_cast<uint32_t>(static_cast<uint8_t>(frame[i])) << 8 |
           static_cast<uint8_t>(frame[i + 1]);
  }
  sum = ~((sum & 0xffff) + (sum >> 16));
  frame[24] = static_cast<char>(sum >> 8);
  frame[25] = static_cast<char>(sum);
  rte_mbuf* const packet = Packet(frame, {});
  EXPECT_EQ(NameOf(Responder(kMac).Answer(packet)), "answered");
  const std::string answer = BytesOf(packet);
  EXPECT_EQ(Hex(answer.substr(34, 8)), "440c0d01c000024d");
  EXPECT_NE(answer[42] & 0x80, 0);
  rte_pktmbuf_free(packet);
}

// RFC 1071, word by word, into the field at `field`, which the bytes from `from` to `to` contain.
void FillChecksum(std::string& frame, size_t from, size_t to, size_t field) {
  frame[field] = frame[field + 1] = '\0';
  uint32_t sum = 0;
  for (size_t i = from; i < to; ++i) {
    sum += uint32_t{static_cast<uint8_t>(frame[i])} << ((i - from) % 2 == 0 ? 8 : 0);
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  frame[field] = static_cast<char>(~sum >> 8);
  frame[field + 1] = static_cast<char>(~sum);
}

// In one piece an ordinary request takes a short way; cut behind its first byte it takes the long
// one. Whatever byte differs, and if the checksums fit it, both say the same.
TEST_F(ResponderTest, TheShortWayAgreesWithTheLongOne) {
  constexpr size_t kIp = 14, kIcmp = 34;
  unsigned answered = 0;
  const auto check = [&](const std::string& frame) {
    rte_mbuf* const whole = Packet(frame, {});
    rte_mbuf* const cut = Packet(frame, {1});
    const Unanswered reason = Responder(kMac).Answer(whole);
    const Unanswered expected = Responder(kMac).Answer(cut);
    if (reason == Unanswered::kNoRequest) {
      // Seen at once: what else is wrong with it was not looked for.
      EXPECT_NE(expected, Unanswered::kAnswered) << Hex(frame);
    } else {
      EXPECT_EQ(NameOf(reason), NameOf(expected)) << Hex(frame);
    }
    if (reason == Unanswered::kAnswered) {
      ++answered;
      EXPECT_EQ(Hex(BytesOf(whole)), Hex(BytesOf(cut))) << Hex(frame);
    }
    rte_pktmbuf_free(whole);
    rte_pktmbuf_free(cut);
  };
  for (const char* why : {"ping with an odd length", "ping without data, padded"}) {
    const std::string request = RowOf(why).Request();
    const auto bytes = static_cast<size_t>(static_cast<uint8_t>(request[17]));  // Of the IP packet.
    for (size_t at = 0; at < 50; ++at) {
      for (unsigned value = 0; value < 256; ++value) {
        std::string frame = request;
        frame[at] = static_cast<char>(value);
        check(frame);
        FillChecksum(frame, kIp, kIcmp, kIp + 10);
        FillChecksum(frame, kIcmp, kIp + bytes, kIcmp + 2);
        check(frame);
      }
    }
    // Every checksum of either kind; and that of ffff, which is as right as 0.
    for (unsigned value = 0; value <= 0xffff; ++value) {
      std::string frame = request;
      frame[kIp + 4] = frame[kIcmp + 4] = static_cast<char>(value >> 8);
      frame[kIp + 5] = frame[kIcmp + 5] = static_cast<char>(value);
      FillChecksum(frame, kIp, kIcmp, kIp + 10);
      FillChecksum(frame, kIcmp, kIp + bytes, kIcmp + 2);
      check(frame);
      if (frame[kIp + 10] != 0 || frame[kIp + 11] != 0) continue;
      frame[kIp + 10] = frame[kIp + 11] = static_cast<char>(0xff);
      check(frame);
    }
  }
  EXPECT_GT(answered, 0x20000U);
}

}  // namespace
}  // namespace penstock
