// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target of what answers read of a request beyond its headers: IPv4 options and the options of
// neighbour solicitations. Whatever the bytes, nothing behind them is touched, and an answered IPv4
// header is one that answers again. Single thread.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "lib/net/checksum.h"
#include "lib/net/headers.h"
#include "lib/net/ipv4_reply.h"
#include "lib/net/neighbor.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

// The first 20 bytes and options of whole words.
void Ipv4(const uint8_t* data, size_t size) {
  const size_t bytes = std::min<size_t>(size, 60) & ~size_t{3};
  if (bytes < sizeof(penstock::Ipv4Header)) return;
  // Memory of its own, so that a sanitizer sees a read behind it.
  const auto header = std::make_unique<uint8_t[]>(bytes);
  std::copy_n(data, bytes, header.get());
  penstock::Ipv4Header before;
  std::memcpy(&before, header.get(), sizeof(before));
  if (!penstock::ReplyIpv4Header({header.get(), bytes}, []() noexcept { return 1u; })) return;
  penstock::Ipv4Header after;
  std::memcpy(&after, header.get(), sizeof(after));
  Require(after.source == before.destination && after.time_to_live != 0);
  Require(penstock::InternetChecksum({header.get(), bytes}) == penstock::Big16(0));
}

// An IPv6 header, then the message.
void Solicitation(const uint8_t* data, size_t size) {
  if (size < sizeof(penstock::Ipv6Header)) return;
  penstock::Ipv6Header ip;
  std::memcpy(&ip, data, sizeof(ip));
  const size_t bytes = size - sizeof(ip);
  const auto message = std::make_unique<uint8_t[]>(bytes);
  std::copy_n(data + sizeof(ip), bytes, message.get());
  if (penstock::ReadSolicitation(ip, {message.get(), bytes}) != penstock::Solicitation::kAsks) {
    return;
  }
  Require(ip.hop_limit == penstock::kNeighborHopLimit);
  const auto answer = penstock::AnswerSolicitation(ip, {message.get(), bytes}, {});
  Require(answer.ip.destination == ip.source && answer.ip.source == answer.message.target);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  if ((data[0] >> 4) == 6) {
    Solicitation(data, size);
  } else {
    Ipv4(data, size);
  }
  return 0;
}
