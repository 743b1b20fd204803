// SPDX-License-Identifier: BSD-3-Clause
//
// IPv4 headers of requests and of their replies: what becomes of each option. Bytes by hand from
// RFC 791; the checksums are looked at by the sum over the header. One thread.

#include "lib/net/ipv4_reply.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "lib/net/checksum.h"

namespace penstock {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr char kRequester[] = "c0000201";  // 192.0.2.1
constexpr char kReplier[] = "c000024d";    // 192.0.2.77
uint32_t ClockMs() noexcept { return 0x12345678; }

Bytes FromHex(const std::string& hex) {
  const std::string bytes = absl::HexStringToBytes(hex);
  return Bytes(bytes.begin(), bytes.end());
}
std::string ToHex(std::span<const uint8_t> bytes) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// A header with these options, of whole words, and a right checksum.
Bytes Header(const std::string& options, const std::string& source, const std::string& destination,
             const std::string& ttl = "3f") {
  Bytes header = FromHex("4548005412344000" + ttl + "010000" + source + destination + options);
  header[0] = static_cast<uint8_t>(0x40 | header.size() / 4);
  const uint16_t checksum = InternetChecksum(header).host();
  header[10] = static_cast<uint8_t>(checksum >> 8);
  header[11] = static_cast<uint8_t>(checksum);
  return header;
}

struct Row {
  const char* why;
  const char* options;
  const char* answered;  // nullptr: none.
  const char* destination = kRequester;
};

constexpr Row kRows[] = {
    {"no options", "", ""},
    {"only padding", "00000000", "00000000"},
    {"no operations, then the end, then what nobody reads", "01010044", "01010044"},
    {"record: the first of two", "01070b04 0000000000000000", "01070b08 c000024d00000000"},
    {"record: the second of two", "01070b08 0a00000100000000", "01070b0c 0a000001c000024d"},
    {"record: full", "01070708 0a000001", "01070708 0a000001"},
    {"record: without places", "01070304", "01070304"},
    {"record: room for half an address", "07060400 00000000", nullptr},
    {"record: a pointer into the option's head", "01070703 00000000", nullptr},
    {"record: no pointer", "07020000", nullptr},
    {"route: three hops, turned", "0183 0f10 0a000001 0a000002 0a000003",
     "0183 0f04 0a000002 0a000001 c0000201", "0a000003"},
    {"route: four hops, strict", "0189 1314 0a000001 0a000002 0a000003 0a000004",
     "0189 1304 0a000003 0a000002 0a000001 c0000201", "0a000004"},
    {"route: one hop", "0183 0708 0a000001", "0183 0704 c0000201", "0a000001"},
    {"route: no hop", "01830304", "01830304"},
    {"route: leads on", "0183 0704 0a000001", nullptr},
    {"route: of half an address", "8305 0600 0a00 0000", nullptr},
    {"route: a second one", "0183 0708 0a000001 0189 0708 0a000001", nullptr},
    {"route: last hop is a group", "0183 0708 e0000001", nullptr},
    {"timestamp: times only, the first", "44080500 00000000", "44080900 92345678"},
    {"timestamp: with addresses, the second of two", "44140d01 0a000001 00000001 00000000 00000000",
     "44141501 0a000001 00000001 c000024d 92345678"},
    {"timestamp: prescribed, our turn", "440c0503 c000024d 00000000", "440c0d03 c000024d 92345678"},
    {"timestamp: prescribed, another's turn", "440c0503 0a000009 00000000",
     "440c0503 0a000009 00000000"},
    {"timestamp: prescribed, done", "440c0d03 c000024d 00000001", "440c0d03 c000024d 00000001"},
    {"timestamp: full, the overflow counts", "44080920 00000001", "44080930 00000001"},
    {"timestamp: the overflow overflows", "440809f0 00000001", nullptr},
    {"timestamp: room for half", "44080501 00000000", nullptr},
    {"timestamp: of an unknown kind", "44080502 00000000", nullptr},
    {"timestamp: a pointer into the option's head", "44080400 00000000", nullptr},
    {"timestamp: too short for a kind", "44030500", nullptr},
    {"security labels stay", "820301 860600000000 010000", "820301 860600000000 010000"},
    {"others were for the request", "94040000 8804abcd", "01010101 01010101"},
    {"two, and each gets its due", "01070704 00000000 44080500 00000000",
     "01070708 c000024d 44080900 92345678"},
    {"longer than the header", "07ff0400", nullptr},
    {"of length 1", "07010400", nullptr},
    {"of length 0", "94000000", nullptr},
    {"without a length", "01010107", nullptr},
};

std::string Packed(const char* hex) {
  std::string packed;
  for (const char* at = hex; *at != '\0'; ++at) {
    if (*at != ' ') packed.push_back(*at);
  }
  return packed;
}

TEST(ReplyIpv4HeaderTest, AnswersEachOptionAsTheRfcsSay) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.why);
    const std::string options = Packed(row.options);
    ASSERT_EQ(options.size() % 8, 0U);
    Bytes header = Header(options, kRequester, kReplier);
    const bool answered = ReplyIpv4Header(header, &ClockMs);
    EXPECT_EQ(answered, row.answered != nullptr);
    if (!answered || row.answered == nullptr) continue;
    EXPECT_EQ(ToHex(header), ToHex(Header(Packed(row.answered), kReplier, row.destination)));
  }
}

TEST(ReplyIpv4HeaderTest, KeepsTheTtlUnlessItIsZero) {
  for (const auto& [request, reply] : {std::pair{"01", "01"}, {"ff", "ff"}, {"00", "40"}}) {
    Bytes header = Header("", kRequester, kReplier, request);
    EXPECT_TRUE(ReplyIpv4Header(header, &ClockMs));
    EXPECT_EQ(ToHex(header), ToHex(Header("", kReplier, kRequester, reply)));
  }
}

}  // namespace
}  // namespace penstock
