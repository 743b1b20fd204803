// SPDX-License-Identifier: BSD-3-Clause
//
// Readers of one value each, for the table of options. Control path, any thread.
//
// Each reads the whole text or refuses it: `out` is then unchanged, and the error says what is
// accepted ("accepted: 1 to 512"); who calls puts the option and the value before it.

#ifndef PENSTOCK_LIB_CONFIG_OPTION_READERS_H_
#define PENSTOCK_LIB_CONFIG_OPTION_READERS_H_

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/config/configuration.h"
#include "lib/config/offloads.h"
#include "lib/text/quantity.h"

namespace penstock {

absl::Status Accepted(absl::string_view what);

// on or off; true or false, as YAML has it.
absl::Status ReadSwitch(absl::string_view text, bool& out);

template <typename T>
absl::Status ReadNumber(absl::string_view text, uint64_t min, uint64_t max, T& out) {
  const auto value = ParseUnsigned(text, min, max);
  if (!value.ok()) return Accepted(absl::StrCat(min, " to ", max));
  out = static_cast<T>(*value);
  return absl::OkStatus();
}

// Decimal, a fraction is fine.
absl::Status ReadSeconds(absl::string_view text, double& out);

template <typename T>
struct Word {
  absl::string_view text;
  T value;
};

template <typename T, size_t n>
absl::Status ReadWord(absl::string_view text, const Word<T> (&words)[n], T& out) {
  std::vector<absl::string_view> accepted;
  for (const Word<T>& word : words) {
    if (word.text == text) {
      out = word.value;
      return absl::OkStatus();
    }
    accepted.push_back(word.text);
  }
  return Accepted(absl::StrJoin(accepted, ", "));
}

// "N" or "PORT:N,PORT:N,…".
absl::Status ReadPerPort(absl::string_view text, uint16_t max, PerPort& out);

// "N", "auto" (kTxBudgetAuto), or either by port.
absl::Status ReadTxBudget(absl::string_view text, PerPort& out);

// "0x6": the numbers of the bits, growing; below `most`, and 64.
absl::Status ReadMask(absl::string_view text, unsigned most, std::vector<uint16_t>& out);

// "0,1" or "2-4,0", in that order; each below `most` and once.
absl::Status ReadList(absl::string_view text, unsigned most, std::vector<uint16_t>& out);

// Given with FCS, as testpmd has it; `out` is without.
absl::Status ReadMaxPacket(absl::string_view text, uint16_t& out);

// A switch that stands for one value of `out`; off takes back no other.
absl::Status ReadRss(absl::string_view text, Rss asked, Rss& out);

// A switch that stands for some bits of `out`.
absl::Status ReadOffloadSwitch(absl::string_view text, uint64_t bits, uint64_t& out);

// As ParseOffloads; adds them to `out`.
absl::Status AddOffloads(absl::string_view text, std::span<const Offload> table, uint64_t& out);

// "100us,1ms"
absl::Status ReadCompletionAge(absl::string_view text, std::array<uint64_t, 2>& out_ns);
// "0.0@2,1.0@2"
absl::Status ReadCompletionLcore(absl::string_view text,
                                 std::map<std::pair<uint16_t, uint16_t>, uint16_t>& out);

absl::Status ReadTxpkts(absl::string_view text, std::vector<uint16_t>& out);
absl::Status ReadTxIp(absl::string_view text, std::array<Ipv4Address, 2>& out);
absl::Status ReadTxUdp(absl::string_view text, std::array<uint16_t, 2>& out);
// Adds one port's.
absl::Status ReadEthPeer(absl::string_view text, std::map<uint16_t, MacAddress>& out);

// Anything on one line that is not empty.
absl::Status ReadText(absl::string_view text, absl::string_view accepted, std::string& out);

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONFIG_OPTION_READERS_H_
