// SPDX-License-Identifier: BSD-3-Clause
//
// For pipeline_bench: frames of several kinds, a stage that puts one into every packet of a burst,
// so that net_null receives it again and again, and what loops written by hand do to such frames.
// They do what the stages' modes do in dpdk-testpmd, checks of headers left out. On a worker lcore.

#ifndef PENSTOCK_TEST_BENCH_FRAME_RIVALS_H_
#define PENSTOCK_TEST_BENCH_FRAME_RIVALS_H_

#include <rte_ethdev.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_udp.h>

#if defined(__SSSE3__)
#include <tmmintrin.h>
#endif

#include <array>
#include <cstring>
#include <utility>

#include "lib/pipeline/stage.h"

namespace penstock {

constexpr uint16_t kFrameBytes = 64;
using Frame = std::array<uint8_t, kFrameBytes>;

enum class FrameKind { kUnknown, kUdp, kPing };

// What scapy makes of Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:00") and, but for the
// unknown, IP(src="10.0.0.5", dst="10.1.0.5"), UDP(sport=1029, dport=9) or ICMP(id=5), and zeros.
template <FrameKind kind>
constexpr Frame FrameOf() {
  if constexpr (kind == FrameKind::kUnknown) {
    return {2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1};
  } else if constexpr (kind == FrameKind::kUdp) {
    return {2,    0, 0,  0,  0, 0, 2, 0, 0,    0,  0,    1,    0x08, 0,
            0x45, 0, 0,  50, 0, 1, 0, 0, 0x40, 17, 0x66, 0xb0, 10,   0,
            0,    5, 10, 1,  0, 5, 4, 5, 0,    9,  0,    30,   0xe7, 0x99};
  } else {
    return {2, 0,    0, 0,    0,    0,  2, 0, 0, 0,  0, 1, 0x08, 0, 0x45, 0,    0,    50, 0, 1, 0,
            0, 0x40, 1, 0x66, 0xc0, 10, 0, 0, 5, 10, 1, 0, 5,    8, 0,    0xf7, 0xfa, 0,  5, 0, 0};
  }
}

template <FrameKind kind>
inline void PutFrame(rte_mbuf* const* mbufs, size_t n) {
  static constexpr Frame kFrame = FrameOf<kind>();
  for (size_t i = 0; i < n; ++i) {
    std::memcpy(rte_pktmbuf_mtod(mbufs[i], uint8_t*), kFrame.data(), kFrame.size());
  }
}

template <FrameKind kind>
class Puts : public StageBase {
 public:
  static constexpr absl::string_view kName = "puts";
  static absl::StatusOr<Puts> Create(const StageContext&) { return Puts(); }
  void Process(Burst burst, auto& out) noexcept {
    PutFrame<kind>(burst.mbufs.data(), burst.mbufs.size());
    out.Next(burst);
  }
};

// By fields of the header, as one would write it first.
inline void SwapScalar(rte_mbuf** mbufs, uint16_t n) {
  for (uint16_t i = 0; i < n; ++i) {
    auto* const header = rte_pktmbuf_mtod(mbufs[i], rte_ether_hdr*);
    const rte_ether_addr source = header->src_addr;
    header->src_addr = header->dst_addr;
    header->dst_addr = source;
    // The lengths that a checksum offload wants, as dpdk-testpmd sets them.
    mbufs[i]->l2_len = sizeof(rte_ether_hdr);
    mbufs[i]->l3_len = sizeof(rte_ipv4_hdr);
  }
}

#if defined(__SSSE3__)
// Sixteen bytes in a register: swaps 0–5 with 6–11, keeps the rest. The packet is at least 16 long.
inline void SwapVector(rte_mbuf** mbufs, uint16_t n) {
  const __m128i order = _mm_setr_epi8(6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 12, 13, 14, 15);
  for (uint16_t i = 0; i < n; ++i) {
    if (i + 4 < n) rte_prefetch0(rte_pktmbuf_mtod(mbufs[i + 4], void*));
    auto* const header = rte_pktmbuf_mtod(mbufs[i], __m128i*);
    _mm_storeu_si128(header, _mm_shuffle_epi8(_mm_loadu_si128(header), order));
    mbufs[i]->l2_len = sizeof(rte_ether_hdr);
    mbufs[i]->l3_len = sizeof(rte_ipv4_hdr);
  }
}
#endif

inline void HandMac(rte_mbuf** mbufs, uint16_t n) {
  for (uint16_t i = 0; i < n; ++i) {
    auto* const ethernet = rte_pktmbuf_mtod(mbufs[i], rte_ether_hdr*);
    ethernet->dst_addr = {{2, 0, 0, 0, 0, 1}};
    ethernet->src_addr = {{2, 0, 0, 0, 0, 2}};
    mbufs[i]->l2_len = sizeof(rte_ether_hdr);
    mbufs[i]->l3_len = sizeof(rte_ipv4_hdr);
  }
}

inline void HandFiveTupleSwap(rte_mbuf** mbufs, uint16_t n) {
  for (uint16_t i = 0; i < n; ++i) {
    auto* const ethernet = rte_pktmbuf_mtod(mbufs[i], rte_ether_hdr*);
    std::swap(ethernet->src_addr, ethernet->dst_addr);
    mbufs[i]->l2_len = sizeof(rte_ether_hdr);
    if (ethernet->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4)) continue;
    auto* const ip = reinterpret_cast<rte_ipv4_hdr*>(ethernet + 1);
    const rte_be32_t source = ip->src_addr;
    ip->src_addr = ip->dst_addr;
    ip->dst_addr = source;
    mbufs[i]->l3_len = sizeof(rte_ipv4_hdr);
    if (ip->next_proto_id != IPPROTO_UDP) continue;
    auto* const udp = reinterpret_cast<rte_udp_hdr*>(ip + 1);
    const rte_be16_t port = udp->src_port;
    udp->src_port = udp->dst_port;
    udp->dst_port = port;
    mbufs[i]->l4_len = sizeof(rte_udp_hdr);
  }
}

// Computes anew what it does not verify.
inline void HandCsum(rte_mbuf** mbufs, uint16_t n) {
  HandMac(mbufs, n);
  for (uint16_t i = 0; i < n; ++i) {
    auto* const ethernet = rte_pktmbuf_mtod(mbufs[i], rte_ether_hdr*);
    if (ethernet->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4)) continue;
    auto* const ip = reinterpret_cast<rte_ipv4_hdr*>(ethernet + 1);
    ip->hdr_checksum = 0;
    ip->hdr_checksum = rte_ipv4_cksum(ip);
    auto* const udp = reinterpret_cast<rte_udp_hdr*>(ip + 1);
    if (ip->next_proto_id != IPPROTO_UDP || udp->dgram_cksum == 0) continue;
    udp->dgram_cksum = 0;
    udp->dgram_cksum = rte_ipv4_udptcp_cksum(ip, udp);
  }
}

// Answers in place; what is no request goes back to the pool. No checksum is looked at.
inline uint16_t HandEcho(rte_mbuf** mbufs, uint16_t n) {
  uint16_t answers = 0;
  for (uint16_t i = 0; i < n; ++i) {
    auto* const ethernet = rte_pktmbuf_mtod(mbufs[i], rte_ether_hdr*);
    auto* const ip = reinterpret_cast<rte_ipv4_hdr*>(ethernet + 1);
    auto* const icmp = reinterpret_cast<rte_icmp_hdr*>(ip + 1);
    if (ethernet->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4) ||
        ip->next_proto_id != IPPROTO_ICMP || icmp->icmp_type != RTE_IP_ICMP_ECHO_REQUEST ||
        icmp->icmp_code != 0) {
      rte_pktmbuf_free(mbufs[i]);
      continue;
    }
    std::swap(ethernet->src_addr, ethernet->dst_addr);
    const rte_be32_t source = ip->src_addr;
    ip->src_addr = ip->dst_addr;
    ip->dst_addr = source;
    icmp->icmp_type = RTE_IP_ICMP_ECHO_REPLY;
    const uint32_t sum = uint32_t{icmp->icmp_cksum} + RTE_BE16(RTE_IP_ICMP_ECHO_REQUEST << 8);
    icmp->icmp_cksum = static_cast<uint16_t>(sum + (sum >> 16));
    mbufs[answers++] = mbufs[i];
  }
  return answers;
}

}  // namespace penstock

#endif  // PENSTOCK_TEST_BENCH_FRAME_RIVALS_H_
