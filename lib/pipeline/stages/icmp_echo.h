// SPDX-License-Identifier: BSD-3-Clause
//
// icmpecho: answers, out of the port that they came in on, ARP requests and ICMP echo requests for
// any address, as testpmd's "icmpecho" does, and IPv6 neighbour solicitations and ICMPv6 echo
// requests likewise. All else is dropped, and counted by why: lib/packet/responder.h says how.
//
// Where it differs from testpmd: answers come from the port's own MAC address; checksums are looked
// at; lengths are, so nothing is read or written beyond a packet; fragments, and requests to or
// from multicast and broadcast addresses, are not answered; IPv4 options and any VLAN tags are
// understood.

#ifndef PENSTOCK_LIB_PIPELINE_STAGES_ICMP_ECHO_H_
#define PENSTOCK_LIB_PIPELINE_STAGES_ICMP_ECHO_H_

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "lib/base/status.h"
#include "lib/packet/responder.h"
#include "lib/pipeline/stages/to_peer.h"

namespace penstock {

class IcmpEcho : public StageBase {
 public:
  static constexpr absl::string_view kName = "icmpecho";
  static constexpr auto kDrops = kUnansweredReasons;

  static absl::StatusOr<IcmpEcho> Create(const StageContext& context) {
    PENSTOCK_ASSIGN_OR_RETURN(ToPeer back, ToPeer::Create(context));
    IcmpEcho stage(std::move(back));
    for (size_t rx = 0; rx < context.rx.size(); ++rx) {
      stage.responders_.emplace_back(context.tx[stage.back_[static_cast<RxSlot>(rx)]].mac);
    }
    return stage;
  }

  void Process(Burst burst, auto& out) noexcept {
    const Responder& responder = responders_[burst.rx];
    std::array<rte_mbuf*, kMaxBurst> silent;  // Dropped together; not cleared.
    size_t silences = 0;
    size_t answers = 0;
    for (rte_mbuf* const mbuf : burst.mbufs) {
      const Unanswered reason = responder.Answer(mbuf);
      if (reason == Unanswered::kAnswered) {
        burst.mbufs[answers++] = mbuf;
      } else if (reason == Unanswered::kNoRequest) {
        silent[silences++] = mbuf;
      } else {
        out.Drop(static_cast<unsigned>(reason) - 1, mbuf);
      }
    }
    if (silences > 0) out.Drop(kNoRequest, std::span(silent).first(silences));
    if (answers > 0) out.Send(back_[burst.rx], burst.mbufs.first(answers));
  }

 private:
  static constexpr unsigned kNoRequest = static_cast<unsigned>(Unanswered::kNoRequest) - 1;

  explicit IcmpEcho(ToPeer back) : back_(std::move(back)) {}

  ToPeer back_;  // The port's own slot: the mode's destination is the port itself.
  std::vector<Responder> responders_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_STAGES_ICMP_ECHO_H_
