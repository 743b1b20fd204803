// SPDX-License-Identifier: BSD-3-Clause
//
// Values of a flow rule's fields: from a word to the bytes of an rte_flow structure and back.
// Control path, any thread.
//
//   std::vector<uint8_t> spec(item.bytes);
//   if (!StoreFlowValue(vid, "100", spec)) return Refuse(DescribeFlowValue(vid));
//
// What is accepted is what dpdk-testpmd accepts, with the same meaning: numbers are decimal,
// hexadecimal after 0x, octal after 0; a MAC address is six pairs or three groups of four
// hexadecimal digits with colons in between; an IPv4 address may be a number. Where testpmd takes a
// number that does not fit and cuts it down (vid 5000 becomes 904), it is refused here. Words are
// not trimmed and carry no sign.
//
// A structure is given as its bytes, at least field.offset + field.bytes of them.

#ifndef PENSTOCK_LIB_PORT_FLOW_VALUE_H_
#define PENSTOCK_LIB_PORT_FLOW_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/port/flow_vocabulary.h"

namespace penstock {

// At most `max`; empty for what is no such number.
std::optional<uint64_t> ParseFlowNumber(absl::string_view word, uint64_t max);

// Bytes from hexadecimal digits, with or without 0x before them; of an odd number the first digit
// is a byte of its own. Empty for what is none, or more than `max_bytes`.
std::optional<std::vector<uint8_t>> ParseFlowHex(absl::string_view word, size_t max_bytes);

// False: the word is no value of the field, and `structure` is as it was.
bool StoreFlowValue(const FlowField& field, absl::string_view word, std::span<uint8_t> structure);

// Sets the field to as many leading ones as the word says.
bool StoreFlowPrefix(const FlowField& field, absl::string_view word, std::span<uint8_t> structure);

// Sets the field to all ones.
void FillFlowField(const FlowField& field, std::span<uint8_t> structure);

// "<0..4095>", "<MAC address>": what the two above take.
std::string DescribeFlowValue(const FlowField& field);
std::string DescribeFlowPrefix(const FlowField& field);

// The field as a word that StoreFlowValue reads back.
std::string FormatFlowValue(const FlowField& field, std::span<const uint8_t> structure);

bool IsZeroFlowField(const FlowField& field, std::span<const uint8_t> structure);
bool IsFullFlowField(const FlowField& field, std::span<const uint8_t> structure);

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_FLOW_VALUE_H_
