// SPDX-License-Identifier: BSD-3-Clause
//
// What a TX queue counts. Written by the queue's users, read by any thread.

#ifndef PENSTOCK_DRIVERS_NET_XSK_TX_COUNTERS_H_
#define PENSTOCK_DRIVERS_NET_XSK_TX_COUNTERS_H_

#include <array>
#include <bit>
#include <cstdint>

#include "lib/ring/ownership.h"
#include "lib/ring/send_sizes.h"

namespace penstock {

// What a send call answered.
enum class SendResult {
  kOk,
  kEagain,
  kEbusy,
  kEnetdown,
  kEnxio,
  kEnobufs,
  kEinval,
  kOther,
  kCount
};
inline constexpr size_t kSendResults = static_cast<size_t>(SendResult::kCount);

// Descriptors taken by one call: 0, 1, 2–3, 4–7, … 512 and more.
inline constexpr size_t kSendSizes = 11;
constexpr size_t SendSizeBucket(uint32_t packets) noexcept {
  const auto bucket = static_cast<size_t>(std::bit_width(packets));
  return bucket < kSendSizes ? bucket : kSendSizes - 1;
}

template <typename Ownership>
struct TxCounters {
  using C = Counter<Ownership>;
  C packets, bytes;   // given to the kernel
  C dropped;          // of those, dropped by the kernel with EBUSY
  C invalid;          // not sendable: no Ethernet header, or no way to lay it out
  C too_long;         // longer than the MTU allows
  C in_flight_twice;  // sent while in flight: the application gave it away twice
  C copies;           // packets that were copied
  C no_chunk;         // a copy had to wait for the mempool
  C reaps, empty_reaps, reaped, bad_completions;
  C stalled;  // calls that said 0 and took nothing
  std::array<C, kSendResults> sends;
  std::array<C, kSendSizes> send_sizes;
  SendCounter<Ownership> pending;  // descriptors in TX when sending began
  C unsent, unsent_bytes;          // were in TX when the queue stopped
  C lock_waits;                    // of the runs before this one
};

// The same as numbers, and what is measured at the moment of asking.
struct TxTotals {
  uint64_t packets = 0, bytes = 0, dropped = 0, invalid = 0, too_long = 0, in_flight_twice = 0;
  uint64_t copies = 0, no_chunk = 0;
  uint64_t reaps = 0, empty_reaps = 0, reaped = 0, bad_completions = 0, stalled = 0, unsent = 0;
  uint64_t unsent_bytes = 0;
  std::array<uint64_t, kSendResults> sends{};
  std::array<uint64_t, kSendSizes> send_sizes{};
  uint64_t oldest_pinned_us = 0;
  uint64_t lock_waits = 0;
  uint64_t budget = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_DRIVERS_NET_XSK_TX_COUNTERS_H_
