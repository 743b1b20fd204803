// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/port_setup.h"

#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/config/offloads.h"

namespace penstock {

// What lib/config says without DPDK.
static_assert(kMaxLcores == RTE_MAX_LCORE);
static_assert(kRxOffloads[0].bit == RTE_ETH_RX_OFFLOAD_VLAN_STRIP);
static_assert(kRxOffloads[1].bit == RTE_ETH_RX_OFFLOAD_IPV4_CKSUM);
static_assert(kRxOffloads[2].bit == RTE_ETH_RX_OFFLOAD_UDP_CKSUM);
static_assert(kRxOffloads[3].bit == RTE_ETH_RX_OFFLOAD_TCP_CKSUM);
static_assert(kRxOffloads[4].bit == RTE_ETH_RX_OFFLOAD_TCP_LRO);
static_assert(kRxOffloads[5].bit == RTE_ETH_RX_OFFLOAD_QINQ_STRIP);
static_assert(kRxOffloads[6].bit == RTE_ETH_RX_OFFLOAD_OUTER_IPV4_CKSUM);
static_assert(kRxOffloads[7].bit == RTE_ETH_RX_OFFLOAD_MACSEC_STRIP);
static_assert(kRxOffloads[8].bit == RTE_ETH_RX_OFFLOAD_VLAN_FILTER);
static_assert(kRxOffloads[9].bit == RTE_ETH_RX_OFFLOAD_VLAN_EXTEND);
static_assert(kRxOffloads[10].bit == RTE_ETH_RX_OFFLOAD_SCATTER);
static_assert(kRxOffloads[11].bit == RTE_ETH_RX_OFFLOAD_TIMESTAMP);
static_assert(kRxOffloads[12].bit == RTE_ETH_RX_OFFLOAD_SECURITY);
static_assert(kRxOffloads[13].bit == RTE_ETH_RX_OFFLOAD_KEEP_CRC);
static_assert(kRxOffloads[14].bit == RTE_ETH_RX_OFFLOAD_SCTP_CKSUM);
static_assert(kRxOffloads[15].bit == RTE_ETH_RX_OFFLOAD_OUTER_UDP_CKSUM);
static_assert(kRxOffloads[16].bit == RTE_ETH_RX_OFFLOAD_RSS_HASH);
static_assert(kTxOffloads[0].bit == RTE_ETH_TX_OFFLOAD_VLAN_INSERT);
static_assert(kTxOffloads[1].bit == RTE_ETH_TX_OFFLOAD_IPV4_CKSUM);
static_assert(kTxOffloads[2].bit == RTE_ETH_TX_OFFLOAD_UDP_CKSUM);
static_assert(kTxOffloads[3].bit == RTE_ETH_TX_OFFLOAD_TCP_CKSUM);
static_assert(kTxOffloads[4].bit == RTE_ETH_TX_OFFLOAD_SCTP_CKSUM);
static_assert(kTxOffloads[5].bit == RTE_ETH_TX_OFFLOAD_TCP_TSO);
static_assert(kTxOffloads[6].bit == RTE_ETH_TX_OFFLOAD_UDP_TSO);
static_assert(kTxOffloads[7].bit == RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM);
static_assert(kTxOffloads[8].bit == RTE_ETH_TX_OFFLOAD_QINQ_INSERT);
static_assert(kTxOffloads[9].bit == RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO);
static_assert(kTxOffloads[10].bit == RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO);
static_assert(kTxOffloads[11].bit == RTE_ETH_TX_OFFLOAD_IPIP_TNL_TSO);
static_assert(kTxOffloads[12].bit == RTE_ETH_TX_OFFLOAD_GENEVE_TNL_TSO);
static_assert(kTxOffloads[13].bit == RTE_ETH_TX_OFFLOAD_MACSEC_INSERT);
static_assert(kTxOffloads[14].bit == RTE_ETH_TX_OFFLOAD_MT_LOCKFREE);
static_assert(kTxOffloads[15].bit == RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
static_assert(kTxOffloads[16].bit == RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE);
static_assert(kTxOffloads[17].bit == RTE_ETH_TX_OFFLOAD_SECURITY);
static_assert(kTxOffloads[18].bit == RTE_ETH_TX_OFFLOAD_UDP_TNL_TSO);
static_assert(kTxOffloads[19].bit == RTE_ETH_TX_OFFLOAD_IP_TNL_TSO);
static_assert(kTxOffloads[20].bit == RTE_ETH_TX_OFFLOAD_OUTER_UDP_CKSUM);
static_assert(kTxOffloads[21].bit == RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP);

namespace {

constexpr uint32_t kHeaderBytes = RTE_ETHER_HDR_LEN;
constexpr uint32_t kXdpHeadroomBytes = 256;  // XDP_PACKET_HEADROOM

absl::Status Missing(std::string message) { return absl::FailedPreconditionError(message); }

absl::Status CheckOffloads(absl::string_view option, const PortCapabilities& port,
                           std::span<const Offload> table, uint64_t asked, uint64_t there) {
  const uint64_t missing = asked & ~there;
  if (missing == 0) return absl::OkStatus();
  return Missing(absl::StrFormat("--%s=%s: %s has no %s; it has %s", option,
                                 FormatOffloads(table, asked), Where(port),
                                 FormatOffloads(table, missing), FormatOffloads(table, there)));
}

uint64_t RssWanted(Rss rss) {
  switch (rss) {
    case Rss::kIp:
      return RTE_ETH_RSS_IP;
    case Rss::kUdp:
      return RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP;
    case Rss::kDefault:
      break;
  }
  return RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP;
}

absl::Status CheckRss(const PortCapabilities& port, const PortSetup& setup) {
  if (setup.rss == Rss::kDefault || setup.rx_queues < 2) return absl::OkStatus();
  const bool udp = setup.rss == Rss::kUdp;
  if ((port.rss_types & (udp ? RTE_ETH_RSS_UDP : RTE_ETH_RSS_IP)) != 0) return absl::OkStatus();
  return Missing(absl::StrFormat(
      "--rss-%s: %s %s; leave the option out", udp ? "udp" : "ip", Where(port),
      port.rss ? absl::StrCat("cannot spread packets by ", udp ? "UDP ports" : "IP addresses")
               : "has no RSS of its own"));
}

absl::Status CheckMaxPacket(const PortCapabilities& port, const PortSetup& setup) {
  if (setup.max_packet_bytes == 0) return absl::OkStatus();
  const uint32_t with_fcs = setup.max_packet_bytes + uint32_t{kFcsBytes};
  const uint32_t around = kHeaderBytes + kFcsBytes;
  const uint32_t min = std::max<uint32_t>(port.min_mtu + around, RTE_ETHER_MIN_LEN);
  const uint32_t max = port.max_mtu + around;
  if (with_fcs < min || with_fcs > max) {
    return Missing(absl::StrFormat("--max-pkt-len=%d: %s takes packets of at most %d to %d bytes",
                                   with_fcs, Where(port), min, max));
  }
  // Where a packet must fit one mbuf.
  const bool chains =
      (EffectiveOffloads(port, setup).rx & RTE_ETH_RX_OFFLOAD_SCATTER) != 0 || port.chains_segments;
  const uint32_t before = RTE_PKTMBUF_HEADROOM + (port.hidden_sockets ? kXdpHeadroomBytes : 0);
  const uint32_t wanted = setup.max_packet_bytes + before;
  if (chains || wanted <= rte_pktmbuf_data_room_size(setup.mempool)) return absl::OkStatus();
  return Missing(absl::StrFormat(
      "--max-pkt-len=%d: %s receives a packet into one mbuf, which takes --mbuf-size=%d or more",
      with_fcs, Where(port), wanted));
}

}  // namespace

std::string Where(const PortCapabilities& port) {
  return absl::StrCat("port ", port.port, " (", port.name,
                      port.interface.empty() ? "" : ", interface ", port.interface, ")");
}

uint16_t MtuOf(uint16_t packet_bytes) { return static_cast<uint16_t>(packet_bytes - kHeaderBytes); }

Offloads EffectiveOffloads(const PortCapabilities& port, const PortSetup& setup) {
  uint64_t tx = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | setup.tx_offloads;
  if (setup.mt_lockfree) tx |= RTE_ETH_TX_OFFLOAD_MT_LOCKFREE;
  if (setup.fast_free) tx |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  // Frames longer than an mbuf arrive as chains where the port can do that.
  const uint64_t rx = RTE_ETH_RX_OFFLOAD_SCATTER | setup.rx_offloads;
  return {rx & port.rx_offloads, tx & port.tx_offloads};
}

uint16_t FreeThreshold(const PortCapabilities& port, const PortSetup& setup) {
  if (!port.reaps_by_threshold) return 0;
  switch (setup.tx_free) {
    case TxFree::kDriver:
      return 0;
    case TxFree::kIfStalls:
      return 1;
    case TxFree::kAlways:
      return static_cast<uint16_t>(setup.tx_descriptors - 1);
  }
  return 0;
}

uint64_t RssTypes(const PortCapabilities& port, const PortSetup& setup) {
  return setup.rx_queues > 1 ? RssWanted(setup.rss) & port.rss_types : 0;
}

absl::Status CheckSetup(const PortCapabilities& port, const PortSetup& setup) {
  absl::Status status =
      CheckOffloads("rx-offloads", port, kRxOffloads, setup.rx_offloads, port.rx_offloads);
  status.Update(
      CheckOffloads("tx-offloads", port, kTxOffloads, setup.tx_offloads, port.tx_offloads));
  if ((setup.tx_offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0 && !setup.fast_free) {
    status.Update(
        Missing(absl::StrFormat("--tx-offloads=mbuf_fast_free: %s sends from several mempools; "
                                "leave it out, or give lcores "
                                "and ports of one NUMA node",
                                Where(port))));
  }
  status.Update(CheckRss(port, setup));
  status.Update(CheckMaxPacket(port, setup));
  return status;
}

}  // namespace penstock
