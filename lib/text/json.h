// SPDX-License-Identifier: BSD-3-Clause
//
// The JSON value of reports and commands: nlohmann's, with an object's keys kept in the order in
// which they were set, so that a report reads as it was written. Control path; a value belongs to
// one thread at a time. Setting or looking up a key is linear in the object's keys: for reports,
// not for tables of thousands.
//
//   Json port;
//   port["port"] = 0;
//   port["rx_packets"] = uint64_t{12};
//   std::string text = FormatJson(port);
//
// Store counters as uint64_t: integers stay exact over their whole range. The library throws on
// misuse (a value of another type than asked for): ask is_number_unsigned() and the like first of
// whatever came from outside.

#ifndef PENSTOCK_LIB_TEXT_JSON_H_
#define PENSTOCK_LIB_TEXT_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

namespace penstock {

using Json = nlohmann::ordered_json;

// The value as text, two spaces a level, newline at the end. Never throws: bytes that are not UTF-8
// (the name of a device is whatever it was given) become U+FFFD, since a report with one odd
// character is worth more than none. NaN and infinity become null.
inline std::string FormatJson(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace penstock

#endif  // PENSTOCK_LIB_TEXT_JSON_H_
