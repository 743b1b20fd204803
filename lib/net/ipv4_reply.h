// SPDX-License-Identifier: BSD-3-Clause
//
// ReplyIpv4Header: makes the IPv4 header of a request into that of the reply by whoever it was for.
// Any lcore, data path: no state, no allocation, reads and writes within the span.
//
// Source and destination change places. Type of service, identification and TTL stay as they came,
// but a TTL of 0, which must not be sent, becomes 64. The checksum is made right. Of the options,
// which keep their places and their length (RFC 1122, 3.2.2.6):
//   source route      is reversed: the reply goes back the way that the request came
//   Record Route      gets the replier's address, while there is room
//   Timestamp         gets its address and time as asked, while there is room; then its overflow
//                     counts
//   security labels   stay: the reply is of the request's level (RFC 1108, CIPSO)
//   all others        become "no operation": they asked something for the request only

#ifndef PENSTOCK_LIB_NET_IPV4_REPLY_H_
#define PENSTOCK_LIB_NET_IPV4_REPLY_H_

#include <cstdint>
#include <span>

namespace penstock {

// `header` is a whole IPv4 header, 20 to 60 bytes, whose version, length and checksum were found
// right. `clock_ms` tells any count of milliseconds, which is marked as not that of the day; it is
// asked only where an option wants the time. False for options that are malformed, lead on to
// somebody else, or have the reply go where no host is; the header is then spoilt.
bool ReplyIpv4Header(std::span<uint8_t> header, uint32_t (*clock_ms)() noexcept) noexcept;

}  // namespace penstock

#endif  // PENSTOCK_LIB_NET_IPV4_REPLY_H_
