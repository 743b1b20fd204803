// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target of Dissect: whatever the bytes, what is found lies within the span, in the order of
// the layers, and of each shorter span the same is found or more is asked for. Single thread.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "lib/net/dissect.h"

namespace {

using penstock::Dissection;
using penstock::Fragment;
using penstock::FrameFault;
using penstock::Network;
using penstock::Transport;

void Require(bool condition) {
  if (!condition) std::abort();
}

bool IsIp(const Dissection& d) {
  return d.network == Network::kIpv4 || d.network == Network::kIpv6;
}

void CheckIp(const Dissection& d, uint32_t head) {
  const uint32_t header = d.network == Network::kIpv4 ? 20 : 40;
  const uint32_t address = d.network == Network::kIpv4 ? 4 : 16;
  Require(d.transport_offset >= d.network_offset + header && d.transport_offset <= head);
  Require(d.fault == FrameFault::kBadLength || d.transport_offset <= d.packet_end);
  for (const uint32_t offset : {d.source_offset, d.destination_offset}) {
    if (offset == Dissection::kNoOffset) continue;
    Require(offset > d.network_offset && offset + address <= d.transport_offset);
  }
  Require(d.source_offset != Dissection::kNoOffset);
}

void CheckTransport(const Dissection& d, uint32_t head) {
  Require(IsIp(d) && d.fault == FrameFault::kNone && d.fragment != Fragment::kLater);
  Require(d.payload_offset >= d.transport_offset + 4 && d.payload_offset <= head);
  Require(d.transport_end >= d.payload_offset && d.transport_end <= d.packet_end);
}

Dissection Check(const uint8_t* data, uint32_t head, uint32_t frame) {
  // Memory of its own, so that a sanitizer sees a read behind it.
  const auto copy = std::make_unique<uint8_t[]>(head);
  std::copy_n(data, head, copy.get());
  const Dissection d = penstock::Dissect({copy.get(), head}, frame);
  Require(d.vlan_tags <= penstock::kMaxVlanTags && d.network_offset <= head);
  Require(d.packet_end <= frame);
  Require(d.network_offset == 0 || d.network_offset == 14u + 4u * d.vlan_tags);
  Require(d.fault != FrameFault::kBeyondHead || head < frame);
  if (IsIp(d)) CheckIp(d, head);
  if (d.transport != Transport::kNone) CheckTransport(d, head);
  return d;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto frame = static_cast<uint32_t>(std::min<size_t>(size, 4096));
  const Dissection whole = Check(data, frame, frame);
  Require(whole.fault != FrameFault::kBeyondHead);
  for (uint32_t head = 0; head < frame; head += 1 + head / 64) {
    const Dissection part = Check(data, head, frame);
    Require(part.fault == FrameFault::kBeyondHead ||
            (part.fault == whole.fault && part.transport == whole.transport &&
             part.payload_offset == whole.payload_offset));
    // Cut off there, it is another frame.
    Check(data, head, head);
  }
  return 0;
}
