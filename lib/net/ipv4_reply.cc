// SPDX-License-Identifier: BSD-3-Clause
//
// See ipv4_reply.h. Any lcore, data path.

#include "lib/net/ipv4_reply.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "lib/net/checksum.h"
#include "lib/net/headers.h"
#include "lib/net/ip_address.h"

namespace penstock {
namespace {

constexpr size_t kAddress = sizeof(Ipv4Address);
constexpr uint8_t kUsualTtl = 64;  // RFC 1700.

// RFC 791, 3.1. Options of several bytes are type, length, data; routes and records go on with a
// pointer, which counts from 1 and begins behind itself.
enum Option : uint8_t {
  kEnd = 0,
  kNoOperation = 1,
  kRecordRoute = 7,
  kTimestamp = 68,
  kSecurity = 130,
  kLooseRoute = 131,
  kExtendedSecurity = 133,
  kCipso = 134,
  kStrictRoute = 137,
};
constexpr size_t kPointerAt = 2;
constexpr size_t kRouteAt = 3;
constexpr size_t kStampsAt = 4;

class Reply {
 public:
  Reply(std::span<uint8_t> header, uint32_t (*clock_ms)() noexcept) noexcept
      : header_(header), clock_ms_(clock_ms) {
    std::memcpy(&ip_, header.data(), sizeof(ip_));
    requester_ = ip_.source;
    replier_ = ip_.destination;
  }

  bool Make() noexcept {
    ip_.source = replier_;
    ip_.destination = requester_;
    if (!Options()) return false;
    // RFC 1122, 3.2.1.7: "A host MUST NOT send a datagram with a Time-to-Live (TTL) value of zero."
    if (ip_.time_to_live == 0) ip_.time_to_live = kUsualTtl;
    ip_.checksum = Big16(0);
    std::memcpy(header_.data(), &ip_, sizeof(ip_));
    ip_.checksum = InternetChecksum(header_);
    std::memcpy(header_.data(), &ip_, sizeof(ip_));
    return true;
  }

 private:
  bool Options() noexcept {
    std::span<uint8_t> left = header_.subspan(sizeof(Ipv4Header));
    while (!left.empty() && left[0] != kEnd) {
      if (left[0] == kNoOperation) {
        left = left.subspan(1);
        continue;
      }
      if (left.size() < 2 || left[1] < 2 || left[1] > left.size()) return false;
      const std::span<uint8_t> option = left.first(left[1]);
      if (!One(option)) return false;
      left = left.subspan(option.size());
    }
    return true;
  }

  bool One(std::span<uint8_t> option) noexcept {
    switch (option[0]) {
      case kLooseRoute:
      case kStrictRoute:
        return Turn(option);
      case kRecordRoute:
        return Record(option);
      case kTimestamp:
        return Stamp(option);
      case kSecurity:
      case kExtendedSecurity:
      case kCipso:
        return true;
      default:
        std::memset(option.data(), kNoOperation, option.size());
        return true;
    }
  }

  // RFC 1122, 3.2.1.8(c): "the receiver of a completed source route … reverses it"; the reply goes
  // to the last hop that was recorded, and from the first of them to the requester.
  bool Turn(std::span<uint8_t> option) noexcept {
    // "This document does not permit … more than one source route option in a datagram."
    if (turned_ || option.size() % kAddress != kRouteAt) return false;
    turned_ = true;
    if (option[kPointerAt] <= option.size()) return false;  // It leads on.
    option[kPointerAt] = kRouteAt + 1;
    const std::span<uint8_t> route = option.subspan(kRouteAt);
    if (route.empty()) return true;
    const size_t last = route.size() - kAddress;
    std::memcpy(&ip_.destination, &route[last], kAddress);
    for (size_t from = 0, to = last; from + kAddress < to; from += kAddress) {
      to -= kAddress;
      std::swap_ranges(&route[from], &route[from] + kAddress, &route[to]);
    }
    std::memcpy(&route[last], &requester_, kAddress);
    return ip_.destination.IsHost();
  }

  // RFC 1122, 3.2.2.6: "SHOULD be updated to include the current host".
  bool Record(std::span<uint8_t> option) noexcept {
    if (option.size() < kRouteAt || option[kPointerAt] < kRouteAt + 1) return false;
    const size_t at = option[kPointerAt] - 1u;
    if (at >= option.size()) return true;  // Full.
    // RFC 791, 3.1: "If there is some room but not enough room for a full address to be inserted,
    // the original datagram is considered to be in error and is discarded."
    if (option.size() - at < kAddress) return false;
    std::memcpy(&option[at], &replier_, kAddress);
    option[kPointerAt] = static_cast<uint8_t>(option[kPointerAt] + kAddress);
    return true;
  }

  bool Stamp(std::span<uint8_t> option) noexcept {
    enum Kind : uint8_t { kTimes = 0, kAddressesAndTimes = 1, kPrescribedAddresses = 3 };
    if (option.size() < kStampsAt || option[kPointerAt] < kStampsAt + 1) return false;
    const auto kind = static_cast<uint8_t>(option[3] & 0xf);
    if (kind != kTimes && kind != kAddressesAndTimes && kind != kPrescribedAddresses) return false;
    size_t at = option[kPointerAt] - 1u;
    if (at >= option.size()) return Overflow(option, kind == kPrescribedAddresses);
    const size_t bytes = sizeof(Big32) + (kind == kTimes ? 0 : kAddress);
    if (option.size() - at < bytes) return false;  // As with a record.
    if (kind == kPrescribedAddresses && std::memcmp(&option[at], &replier_, kAddress) != 0) {
      return true;  // Another's turn.
    }
    if (kind != kTimes) {
      std::memcpy(&option[at], &replier_, kAddress);
      at += kAddress;
    }
    // RFC 791, 3.1: any time may be given "provided the high order bit of the timestamp field is
    // set to one to indicate the use of a non-standard value".
    const Big32 time(clock_ms_() | 0x80000000u);
    std::memcpy(&option[at], &time, sizeof(time));
    option[kPointerAt] = static_cast<uint8_t>(option[kPointerAt] + bytes);
    return true;
  }

  // "If … the overflow count itself overflows, the original datagram is considered to be in error."
  static bool Overflow(std::span<uint8_t> option, bool prescribed) noexcept {
    if (prescribed) return true;
    if (option[3] >> 4 == 15) return false;
    option[3] = static_cast<uint8_t>(option[3] + 0x10);
    return true;
  }

  const std::span<uint8_t> header_;
  uint32_t (*const clock_ms_)() noexcept;
  Ipv4Header ip_;
  Ipv4Address requester_;
  Ipv4Address replier_;
  bool turned_ = false;
};

}  // namespace

bool ReplyIpv4Header(std::span<uint8_t> header, uint32_t (*clock_ms)() noexcept) noexcept {
  return Reply(header, clock_ms).Make();
}

}  // namespace penstock
