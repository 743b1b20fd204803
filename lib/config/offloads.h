// SPDX-License-Identifier: BSD-3-Clause
//
// Offloads by name: what a port may be asked to do to packets by itself. Free of DPDK; any thread.
//
// The bits are those of RTE_ETH_RX_OFFLOAD_* and RTE_ETH_TX_OFFLOAD_*, the names DPDK's own in
// lower case: RTE_ETH_RX_OFFLOAD_IPV4_CKSUM is "ipv4_cksum". lib/port/port_setup.cc proves that
// they are. Missing is what a bit alone does not switch on: buffer_split, which needs a layout of
// segments.
//
//   PENSTOCK_ASSIGN_OR_RETURN(uint64_t bits, ParseOffloads(kRxOffloads, "ipv4_cksum,vlan_strip"));
//   FormatOffloads(kRxOffloads, bits)   // "vlan_strip,ipv4_cksum"

#ifndef PENSTOCK_LIB_CONFIG_OFFLOADS_H_
#define PENSTOCK_LIB_CONFIG_OFFLOADS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

struct Offload {
  absl::string_view name;
  uint64_t bit;
};

constexpr uint64_t OffloadBit(unsigned n) { return uint64_t{1} << n; }

inline constexpr std::array kRxOffloads = {
    Offload{"vlan_strip", OffloadBit(0)},       Offload{"ipv4_cksum", OffloadBit(1)},
    Offload{"udp_cksum", OffloadBit(2)},        Offload{"tcp_cksum", OffloadBit(3)},
    Offload{"tcp_lro", OffloadBit(4)},          Offload{"qinq_strip", OffloadBit(5)},
    Offload{"outer_ipv4_cksum", OffloadBit(6)}, Offload{"macsec_strip", OffloadBit(7)},
    Offload{"vlan_filter", OffloadBit(9)},      Offload{"vlan_extend", OffloadBit(10)},
    Offload{"scatter", OffloadBit(13)},         Offload{"timestamp", OffloadBit(14)},
    Offload{"security", OffloadBit(15)},        Offload{"keep_crc", OffloadBit(16)},
    Offload{"sctp_cksum", OffloadBit(17)},      Offload{"outer_udp_cksum", OffloadBit(18)},
    Offload{"rss_hash", OffloadBit(19)},
};

inline constexpr std::array kTxOffloads = {
    Offload{"vlan_insert", OffloadBit(0)},      Offload{"ipv4_cksum", OffloadBit(1)},
    Offload{"udp_cksum", OffloadBit(2)},        Offload{"tcp_cksum", OffloadBit(3)},
    Offload{"sctp_cksum", OffloadBit(4)},       Offload{"tcp_tso", OffloadBit(5)},
    Offload{"udp_tso", OffloadBit(6)},          Offload{"outer_ipv4_cksum", OffloadBit(7)},
    Offload{"qinq_insert", OffloadBit(8)},      Offload{"vxlan_tnl_tso", OffloadBit(9)},
    Offload{"gre_tnl_tso", OffloadBit(10)},     Offload{"ipip_tnl_tso", OffloadBit(11)},
    Offload{"geneve_tnl_tso", OffloadBit(12)},  Offload{"macsec_insert", OffloadBit(13)},
    Offload{"mt_lockfree", OffloadBit(14)},     Offload{"multi_segs", OffloadBit(15)},
    Offload{"mbuf_fast_free", OffloadBit(16)},  Offload{"security", OffloadBit(17)},
    Offload{"udp_tnl_tso", OffloadBit(18)},     Offload{"ip_tnl_tso", OffloadBit(19)},
    Offload{"outer_udp_cksum", OffloadBit(20)}, Offload{"send_on_timestamp", OffloadBit(21)},
};

// All bits of a table.
constexpr uint64_t OffloadBits(std::span<const Offload> table) {
  uint64_t bits = 0;
  for (const Offload& offload : table) bits |= offload.bit;
  return bits;
}

// The bits of some names; does not compile for a name that the table has not.
template <size_t n>
consteval uint64_t OffloadsNamed(std::span<const Offload> table,
                                 const absl::string_view (&names)[n]) {
  uint64_t bits = 0;
  for (const absl::string_view name : names) {
    bool found = false;
    for (const Offload& offload : table) {
      if (offload.name != name) continue;
      bits |= offload.bit;
      found = true;
    }
    if (!found) throw "no such offload";
  }
  return bits;
}

// Names divided by commas, "none", or a mask in hexadecimal as testpmd takes it ("0x6" or "6").
// The error says what is accepted.
absl::StatusOr<uint64_t> ParseOffloads(std::span<const Offload> table, absl::string_view text);

// The names, divided by commas; "none" of no bit. Bits that the table has not are not shown.
std::string FormatOffloads(std::span<const Offload> table, uint64_t bits);

}  // namespace penstock

#endif  // PENSTOCK_LIB_CONFIG_OFFLOADS_H_
