// SPDX-License-Identifier: BSD-3-Clause
//
// Neighbour solicitations by each check of RFC 4861, 7.1.1, and the advertisement that scapy makes.
// One thread.

#include "lib/net/neighbor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace penstock {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes FromHex(absl::string_view hex) {
  const std::string bytes = absl::HexStringToBytes(hex);
  return Bytes(bytes.begin(), bytes.end());
}
Ipv6Address Ip(absl::string_view text) { return Ipv6Address::Parse(text).value(); }

// A solicitation for 2001:db8::77.
constexpr char kSolicitation[] = "870000000000000020010db8000000000000000000000077";
constexpr char kSource[] = "010102bb00000001";

struct Row {
  const char* why;
  Solicitation read;
  const char* source = "2001:db8::1";
  const char* destination = "ff02::1:ff00:77";
  uint8_t hop_limit = 255;
  std::string message = std::string(kSolicitation) + kSource;
};

TEST(NeighborTest, ReadsWhatIsValid) {
  const std::string solicitation = kSolicitation;
  const std::string group = "8700000000000000ff020000000000000000000000000001";
  std::string code = solicitation;
  code[3] = '1';
  const Row rows[] = {
      {"as kernels ask", Solicitation::kAsks},
      {"without options", Solicitation::kAsks, "2001:db8::1", "2001:db8::77", 255, solicitation},
      {"with an unknown option", Solicitation::kAsks, "2001:db8::1", "2001:db8::77", 255,
       solicitation + "0e02000000000000000000000000beef" + kSource},
      {"hop limit 254", Solicitation::kInvalid, "2001:db8::1", "ff02::1:ff00:77", 254},
      {"hop limit 0", Solicitation::kInvalid, "2001:db8::1", "ff02::1:ff00:77", 0},
      {"code 1", Solicitation::kInvalid, "2001:db8::1", "ff02::1:ff00:77", 255, code},
      {"23 bytes", Solicitation::kInvalid, "2001:db8::1", "ff02::1:ff00:77", 255,
       solicitation.substr(0, 46)},
      {"nothing", Solicitation::kInvalid, "2001:db8::1", "ff02::1:ff00:77", 255, ""},
      {"target a group", Solicitation::kInvalid, "2001:db8::1", "ff02::1:ff00:77", 255, group},
      {"option of length 0", Solicitation::kInvalid, "2001:db8::1", "ff02::1:ff00:77", 255,
       solicitation + "0e00000000000000"},
      {"option of length 0 behind a good one", Solicitation::kInvalid, "2001:db8::1",
       "ff02::1:ff00:77", 255, solicitation + kSource + "0e00000000000000"},
      {"option beyond the end", Solicitation::kInvalid, "2001:db8::1", "ff02::1:ff00:77", 255,
       solicitation + "0102000000000000"},
      {"one byte of an option", Solicitation::kInvalid, "2001:db8::1", "ff02::1:ff00:77", 255,
       solicitation + "01"},
      {"address detection", Solicitation::kProbes, "::", "ff02::1:ff00:77", 255, solicitation},
      {"enhanced address detection: with a nonce", Solicitation::kProbes, "::", "ff02::1:ff00:77",
       255, solicitation + "0e01010203040506"},
      {"address detection with a source", Solicitation::kInvalid, "::", "ff02::1:ff00:77"},
      {"address detection to all nodes", Solicitation::kInvalid, "::", "ff02::1", 255,
       solicitation},
      {"address detection to the target", Solicitation::kInvalid, "::", "2001:db8::77", 255,
       solicitation},
      {"of the asker's own", Solicitation::kProbes, "2001:db8::77"},
  };
  for (const Row& row : rows) {
    Ipv6Header ip;
    ip.source = Ip(row.source);
    ip.destination = Ip(row.destination);
    ip.hop_limit = row.hop_limit;
    EXPECT_EQ(ReadSolicitation(ip, FromHex(row.message)), row.read) << row.why;
  }
}

// raw(IPv6(src='2001:db8::77',dst='2001:db8::1',hlim=255)/ICMPv6ND_NA(tgt='2001:db8::77',R=0,S=1,
//     O=1)/ICMPv6NDOptDstLLAddr(lladdr='02:aa:00:00:00:01'))
TEST(NeighborTest, AnswersAsScapyDoes) {
  Ipv6Header ip;
  ip.source = Ip("2001:db8::1");
  ip.destination = Ip("ff02::1:ff00:77");
  ip.hop_limit = 255;
  const NeighborAnswer answer =
      AnswerSolicitation(ip, FromHex(kSolicitation), MacAddress{{2, 0xaa, 0, 0, 0, 1}});
  EXPECT_EQ(absl::BytesToHexString({reinterpret_cast<const char*>(&answer), sizeof(answer)}),
            "6000000000203aff20010db800000000000000000000007720010db8000000000000000000000001"
            "880088de6000000020010db8000000000000000000000077020102aa00000001");
}

}  // namespace
}  // namespace penstock
