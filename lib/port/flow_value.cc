// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/flow_value.h"

#include <arpa/inet.h>
#include <rte_ether.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace {

using Kind = FlowField::Kind;

bool IsNumber(const FlowField& field) {
  return field.kind == Kind::kNetworkNumber || field.kind == Kind::kHostNumber;
}

// Does the integer's most significant byte stand first?
bool MostSignificantFirst(const FlowField& field) {
  return field.kind == Kind::kNetworkNumber || std::endian::native == std::endian::big;
}

uint64_t Width(const FlowField& field) {
  return IsNumber(field) ? static_cast<uint64_t>(std::popcount(field.bits)) : 8U * field.bytes;
}

uint64_t MaxNumber(const FlowField& field) { return field.bits >> std::countr_zero(field.bits); }

// The integer that a number has its bits of.
uint64_t LoadInteger(const FlowField& field, std::span<const uint8_t> structure) {
  uint64_t integer = 0;
  for (size_t i = 0; i < field.bytes; ++i) {
    const size_t at = MostSignificantFirst(field) ? i : field.bytes - 1U - i;
    integer = integer << 8 | structure[field.offset + at];
  }
  return integer;
}

uint64_t LoadNumber(const FlowField& field, std::span<const uint8_t> structure) {
  return (LoadInteger(field, structure) & field.bits) >> std::countr_zero(field.bits);
}

void StoreNumber(const FlowField& field, uint64_t number, std::span<uint8_t> structure) {
  uint64_t integer =
      (LoadInteger(field, structure) & ~field.bits) | number << std::countr_zero(field.bits);
  for (size_t i = field.bytes; i-- > 0;) {
    const size_t at = MostSignificantFirst(field) ? i : field.bytes - 1U - i;
    structure[field.offset + at] = static_cast<uint8_t>(integer);
    integer >>= 8;
  }
}

std::span<const uint8_t> Bytes(const FlowField& field, std::span<const uint8_t> structure) {
  return structure.subspan(field.offset, field.bytes);
}

void StoreBytes(const FlowField& field, std::span<const uint8_t> bytes,
                std::span<uint8_t> structure) {
  std::ranges::copy(bytes.first(field.bytes), structure.subspan(field.offset).begin());
}

// An address as on the wire; its first field.bytes bytes count.
std::optional<std::array<uint8_t, 16>> ParseAddress(Kind kind, const std::string& word) {
  std::array<uint8_t, 16> bytes{};
  // A NUL within would end the word early for those who read it.
  if (word.find('\0') != std::string::npos) return std::nullopt;
  switch (kind) {
    case Kind::kMac: {
      rte_ether_addr mac{};
      if (rte_ether_unformat_addr(word.c_str(), &mac) != 0) return std::nullopt;
      std::ranges::copy(mac.addr_bytes, bytes.begin());
      return bytes;
    }
    case Kind::kIpv4: {
      if (inet_pton(AF_INET, word.c_str(), bytes.data()) == 1) return bytes;
      const std::optional<uint64_t> number = ParseFlowNumber(word, 0xffffffff);
      if (!number) return std::nullopt;
      for (int i = 0; i < 4; ++i) {
        bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(*number >> (24 - 8 * i));
      }
      return bytes;
    }
    case Kind::kIpv6:
      if (inet_pton(AF_INET6, word.c_str(), bytes.data()) == 1) return bytes;
      return std::nullopt;
    case Kind::kNetworkNumber:
    case Kind::kHostNumber:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> ParseFlowNumber(absl::string_view word, uint64_t max) {
  int base = 10;
  if (absl::ConsumePrefix(&word, "0x") || absl::ConsumePrefix(&word, "0X")) {
    base = 16;
  } else if (word.size() > 1 && word[0] == '0') {
    base = 8;
  }
  uint64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [read, error] = std::from_chars(word.data(), end, number, base);
  if (error != std::errc() || read != end || number > max) return std::nullopt;
  return number;
}

std::optional<std::vector<uint8_t>> ParseFlowHex(absl::string_view word, size_t max_bytes) {
  if (!absl::ConsumePrefix(&word, "0x")) absl::ConsumePrefix(&word, "0X");
  if (word.empty() || (word.size() + 1) / 2 > max_bytes) return std::nullopt;
  if (!std::ranges::all_of(
          word, [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); })) {
    return std::nullopt;
  }
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < word.size();) {
    const size_t digits = (word.size() - i) % 2 == 0 ? 2 : 1;
    uint8_t byte = 0;
    std::from_chars(word.data() + i, word.data() + i + digits, byte, 16);
    bytes.push_back(byte);
    i += digits;
  }
  return bytes;
}

bool StoreFlowValue(const FlowField& field, absl::string_view word, std::span<uint8_t> structure) {
  if (IsNumber(field)) {
    const std::optional<uint64_t> number = ParseFlowNumber(word, MaxNumber(field));
    if (number) StoreNumber(field, *number, structure);
    return number.has_value();
  }
  const auto address = ParseAddress(field.kind, std::string(word));
  if (address) StoreBytes(field, *address, structure);
  return address.has_value();
}

bool StoreFlowPrefix(const FlowField& field, absl::string_view word, std::span<uint8_t> structure) {
  const uint64_t width = Width(field);
  const std::optional<uint64_t> ones = ParseFlowNumber(word, width);
  if (!ones) return false;
  if (IsNumber(field)) {
    const uint64_t zeros = width - *ones;
    StoreNumber(field, *ones == 0 ? 0 : MaxNumber(field) >> zeros << zeros, structure);
    return true;
  }
  std::array<uint8_t, 16> bytes{};
  for (uint64_t bit = 0; bit < *ones; ++bit) {
    bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] | 0x80 >> bit % 8);
  }
  StoreBytes(field, bytes, structure);
  return true;
}

void FillFlowField(const FlowField& field, std::span<uint8_t> structure) {
  if (IsNumber(field)) {
    StoreNumber(field, MaxNumber(field), structure);
  } else {
    std::ranges::fill(structure.subspan(field.offset, field.bytes), uint8_t{0xff});
  }
}

std::string DescribeFlowValue(const FlowField& field) {
  switch (field.kind) {
    case Kind::kNetworkNumber:
    case Kind::kHostNumber:
      return absl::StrCat("<0..", MaxNumber(field), ">");
    case Kind::kMac:
      return "<MAC address>";
    case Kind::kIpv4:
      return "<IPv4 address>";
    case Kind::kIpv6:
      return "<IPv6 address>";
  }
  return "";
}

std::string DescribeFlowPrefix(const FlowField& field) {
  return absl::StrCat("<prefix length 0..", Width(field), ">");
}

std::string FormatFlowValue(const FlowField& field, std::span<const uint8_t> structure) {
  if (IsNumber(field)) return absl::StrCat(LoadNumber(field, structure));
  const std::span<const uint8_t> bytes = Bytes(field, structure);
  if (field.kind == Kind::kMac) {
    return absl::StrFormat("%02x:%02x:%02x:%02x:%02x:%02x", bytes[0], bytes[1], bytes[2], bytes[3],
                           bytes[4], bytes[5]);
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(field.kind == Kind::kIpv4 ? AF_INET : AF_INET6, bytes.data(), text.data(), text.size());
  return text.data();
}

bool IsZeroFlowField(const FlowField& field, std::span<const uint8_t> structure) {
  if (IsNumber(field)) return LoadNumber(field, structure) == 0;
  return std::ranges::all_of(Bytes(field, structure), [](uint8_t byte) { return byte == 0; });
}

bool IsFullFlowField(const FlowField& field, std::span<const uint8_t> structure) {
  if (IsNumber(field)) return LoadNumber(field, structure) == MaxNumber(field);
  return std::ranges::all_of(Bytes(field, structure), [](uint8_t byte) { return byte == 0xff; });
}

}  // namespace penstock
