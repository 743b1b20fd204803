// SPDX-License-Identifier: BSD-3-Clause
//
// Which mbufs an AF_XDP socket holds; see the header. Control thread.

#include "lib/port/xsk_holdings.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

// Both stretches of history (see AddPair()) can be cut wrongly for the same chunk only if it
// overtook more others than the stretches differ by. Linux's copy mode keeps the order but for a
// few frames.
constexpr uint32_t kOvertaken = 16;

uint32_t SizeOf(const RingImage& ring) { return static_cast<uint32_t>(ring.chunks.size()); }

// The entries [end - count, end) of the ring's history, sorted.
std::vector<uint64_t> LastEntries(const RingImage& ring, uint32_t end, uint32_t count) {
  std::vector<uint64_t> entries;
  entries.reserve(count);
  for (uint32_t i = end - count; i != end; ++i) {
    entries.push_back(ring.chunks[i & (SizeOf(ring) - 1)]);
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

absl::Status CheckRing(const RingImage& ring, absl::string_view name) {
  const uint32_t size = SizeOf(ring);
  if (size == 0 || (size & (size - 1)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " ring of ", size, " entries; accepted: a power of two"));
  }
  if (ring.producer - ring.consumer > size) {
    return absl::DataLossError(
        absl::StrCat(name, " ring of ", size, " entries holds ", ring.producer - ring.consumer));
  }
  return absl::OkStatus();
}

// What went in and, by the last `returned` entries of `out`, has not come out. Sorted.
std::vector<uint64_t> Missing(const RingImage& in, const RingImage& out, uint32_t pending,
                              uint32_t returned) {
  const std::vector<uint64_t> put = LastEntries(in, in.producer, pending + returned);
  const std::vector<uint64_t> taken = LastEntries(out, out.producer, returned);
  std::vector<uint64_t> missing;
  std::set_difference(put.begin(), put.end(), taken.begin(), taken.end(),
                      std::back_inserter(missing));
  return missing;
}

// Adds what is between the driver's producing end of `in` and its consuming end of `out`.
absl::Status AddPair(const RingImage& in, const RingImage& out, absl::string_view name,
                     Holdings& holdings) {
  PENSTOCK_RETURN_IF_ERROR(CheckRing(in, name));
  PENSTOCK_RETURN_IF_ERROR(CheckRing(out, name));
  const auto hold = [&holdings](const std::vector<uint64_t>& chunks) {
    holdings.chunks.insert(holdings.chunks.end(), chunks.begin(), chunks.end());
  };

  // Given back by the kernel, not yet taken by the driver.
  hold(LastEntries(out, out.producer, out.producer - out.consumer));

  // Given to the kernel and not given back. Indices are free-running, so the difference is right
  // across their wrap; negative means more back than given.
  const uint32_t pending = in.producer - out.producer;
  if (static_cast<int32_t>(pending) < 0) {
    return absl::DataLossError(
        absl::StrCat(name, ": the kernel returned ", -pending, " chunks more than it was given"));
  }

  // Nothing is on its way: it is all still in the ring.
  if (in.consumer == out.producer) {
    hold(LastEntries(in, in.producer, pending));
    return absl::OkStatus();
  }

  // Some kernels write an entry of `out` when they take it from `in`, over the oldest of its
  // history and before they publish it.
  const int32_t taken = static_cast<int32_t>(in.consumer - out.producer);
  const uint32_t overwritten = std::min(SizeOf(out), static_cast<uint32_t>(std::max(0, taken)));
  const uint32_t in_history = std::min(SizeOf(in), in.producer);
  const uint32_t out_history = std::min(SizeOf(out) - overwritten, out.producer);
  if (pending > in_history) {
    holdings.unplaced += pending;
    return absl::OkStatus();
  }

  // Compare stretches of both histories that cover the same frames, given that the kernel keeps
  // their order. Where it does not, a stretch that does not reach back to the rings' beginning may
  // have cut a chunk's way in from its way out. Another stretch cuts elsewhere: believe what both
  // say.
  const uint32_t longest = std::min(in_history - pending, out_history);
  std::vector<uint64_t> missing = Missing(in, out, pending, longest);
  if (longest != out.producer) {
    const std::vector<uint64_t> all = std::move(missing);
    const std::vector<uint64_t> half = Missing(in, out, pending, longest / 2);
    missing.clear();
    if (longest - longest / 2 > kOvertaken) {
      std::set_intersection(all.begin(), all.end(), half.begin(), half.end(),
                            std::back_inserter(missing));
    }
  }
  if (missing.size() > pending) missing.clear();  // no order at all: their number is still exact
  holdings.unplaced += pending - missing.size();
  hold(missing);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Holdings> HoldingsOf(std::span<const SocketImage> sockets) {
  Holdings holdings;
  for (const SocketImage& socket : sockets) {
    PENSTOCK_RETURN_IF_ERROR(AddPair(socket.fill, socket.rx, "FILL and RX", holdings));
    PENSTOCK_RETURN_IF_ERROR(AddPair(socket.tx, socket.completion, "TX and COMPLETION", holdings));
  }
  std::sort(holdings.chunks.begin(), holdings.chunks.end());
  holdings.chunks.erase(std::unique(holdings.chunks.begin(), holdings.chunks.end()),
                        holdings.chunks.end());
  return holdings;
}

}  // namespace penstock
