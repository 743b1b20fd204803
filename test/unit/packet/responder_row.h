// SPDX-License-Identifier: BSD-3-Clause
//
// One packet in, one packet out or why not.

#ifndef PENSTOCK_TEST_UNIT_PACKET_RESPONDER_ROW_H_
#define PENSTOCK_TEST_UNIT_PACKET_RESPONDER_ROW_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Some rows end in so many bytes of 7 times their number.
inline constexpr size_t kBigBytes = 1400;

struct ResponderRow {
  const char* why;
  const char* request;  // In hexadecimal digits.
  const char* answer;   // The same, or the reason why there is none.
  size_t payload = 0;   // Bytes that follow both.

  bool answered() const {
    return absl::string_view(answer).find_first_not_of("0123456789abcdef") ==
           absl::string_view::npos;
  }
  std::string Request() const { return Frame(request); }
  std::string Answer() const { return Frame(answer); }

 private:
  std::string Frame(const char* hex) const {
    std::string frame = absl::HexStringToBytes(hex);
    for (size_t i = 0; i < payload; ++i) frame.push_back(static_cast<char>(i * 7));
    return frame;
  }
};

}  // namespace penstock

#endif  // PENSTOCK_TEST_UNIT_PACKET_RESPONDER_ROW_H_
