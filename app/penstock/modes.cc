// SPDX-License-Identifier: BSD-3-Clause
//
// What penstock can do with packets: each mode a row of stages. A new mode is a row here and a file
// in lib/pipeline/stages for each stage that it adds.

#include "app/penstock/modes.h"

#include "lib/pipeline/stages/csum.h"
#include "lib/pipeline/stages/five_tuple_swap.h"
#include "lib/pipeline/stages/flow_gen.h"
#include "lib/pipeline/stages/icmp_echo.h"
#include "lib/pipeline/stages/io.h"
#include "lib/pipeline/stages/mac_set.h"
#include "lib/pipeline/stages/mac_swap.h"
#include "lib/pipeline/stages/rx_only.h"
#include "lib/pipeline/stages/tx_only.h"

namespace penstock {
namespace {

constexpr ModeShape kForward{.sends = Destination::kPeer};
constexpr ModeShape kReply{.sends = Destination::kSelf};
constexpr ModeShape kReceive{.sends = Destination::kNone};
constexpr ModeShape kSource{.sends = Destination::kSelf, .streams = Streams::kTransmit};

constexpr Mode kModes[] = {
    MakeMode<Io>("io", "forward packets as they are", kForward),
    MakeMode<MacSwap>("macswap", "exchange the MAC addresses, then forward", kForward),
    MakeMode<MacSet>("mac", "set the MAC addresses, to --eth-peer, then forward", kForward),
    MakeMode<FiveTupleSwap>("5tswap", "exchange MAC and IP addresses and ports, then forward",
                            kForward),
    MakeMode<Csum>("csum", "verify and fill checksums, set the MAC addresses, then forward",
                   kForward),
    MakeMode<RxOnly>("rxonly", "receive and drop", kReceive),
    MakeMode<TxOnly>("txonly", "make UDP packets and send them", kSource),
    MakeMode<FlowGen>("flowgen", "make UDP packets of many flows and send them; drop what comes in",
                      kForward),
    MakeMode<IcmpEcho>("icmpecho", "answer ARP, ping, IPv6 neighbour solicitations", kReply),
};

}  // namespace

std::span<const Mode> Modes() { return kModes; }

}  // namespace penstock
