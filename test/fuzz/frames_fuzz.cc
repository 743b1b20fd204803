// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target of what the modes do to packets: whatever the frame and however it is cut into
// segments, each mode does to the pieces what it does to the whole, touches nothing beside them and
// lets go of every mbuf once. Main lcore, of an EAL that has nothing but a clock.
//
// An input is: a byte of how many cuts (low four bits) and of the tags that the port took off
// (0x10 one, 0x20 two); a byte of offloads, as ChecksumOffloads lists them from the lowest bit; a
// byte of what the RX port says of checksums, IP in the lowest two bits, TCP and UDP above; a byte
// of length for each cut, 0 included; and the frame.

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "lib/packet/packet_head.h"
#include "lib/pipeline/stages/csum.h"
#include "lib/pipeline/stages/five_tuple_swap.h"
#include "lib/pipeline/stages/icmp_echo.h"
#include "lib/pipeline/stages/mac_set.h"
#include "lib/pipeline/stages/mac_swap.h"
#include "test/support/packets.h"
#include "test/unit/pipeline/stages/bench.h"

namespace penstock {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

// Answers ask for the time, which is EAL's.
void StartEal() {
  static const bool started = [] {
    static std::string prefix = "--file-prefix=penstock-fuzz-" + std::to_string(getpid());
    static std::array<std::string, 7> words = {"fuzz",     "--no-huge", "--no-shconf",
                                               "--no-pci", "-m16",      "--no-telemetry"};
    words.back() = prefix;
    static std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    Require(rte_eal_init(static_cast<int>(words.size()), argv.data()) >= 0);
    return std::atexit([] {
             const std::filesystem::path directory = rte_eal_get_runtime_dir();
             rte_eal_cleanup();
             std::error_code error;
             std::filesystem::remove_all(directory, error);
           }) == 0;
  }();
  Require(started);
}

// One mbuf in memory of its own, so that a sanitizer sees a read beside it.
struct Segment : rte_mbuf {
  static constexpr uint16_t kTailroom = 128;  // Of the first.

  Segment(rte_mempool* returns_to, const uint8_t* bytes, size_t n, bool first)
      : rte_mbuf{},
        room(RTE_PKTMBUF_HEADROOM + n + (first ? kTailroom : 0)),
        buffer(std::make_unique<uint8_t[]>(room)),
        begin(RTE_PKTMBUF_HEADROOM),
        end(begin + n) {
    std::fill_n(buffer.get(), room, kGuard);
    std::copy_n(bytes, n, buffer.get() + begin);
    buf_addr = buffer.get();
    buf_iova = reinterpret_cast<uintptr_t>(buffer.get());
    buf_len = static_cast<uint16_t>(room);
    pool = returns_to;
    rte_pktmbuf_reset(this);
    data_len = static_cast<uint16_t>(n);
    pkt_len = data_len;
    rte_mbuf_refcnt_set(this, 1);
  }

  // Whether nothing was written beside the bytes, those that were there and those that are.
  bool GuardsHold() const {
    size_t from = begin;
    size_t to = end;
    if (!freed) {
      from = std::min<size_t>(from, data_off);
      to = std::max<size_t>(to, data_off + data_len);
    }
    const auto is_guard = [](uint8_t byte) { return byte == kGuard; };
    return std::all_of(buffer.get(), buffer.get() + from, is_guard) &&
           std::all_of(buffer.get() + to, buffer.get() + room, is_guard);
  }

  const size_t room;
  const std::unique_ptr<uint8_t[]> buffer;
  const size_t begin;
  const size_t end;
  bool freed = false;
};

// A mempool that has nothing to give and looks at what comes back.
int Enqueue(rte_mempool*, void* const* mbufs, unsigned n) {
  for (unsigned i = 0; i < n; ++i) {
    auto* const segment = static_cast<Segment*>(static_cast<rte_mbuf*>(mbufs[i]));
    Require(!segment->freed && segment->GuardsHold());
    segment->freed = true;
  }
  return 0;
}

rte_mempool* Returns() {
  static rte_mempool* const pool = [] {
    static rte_mempool_ops ops{};
    const std::string name = "penstock_fuzz";
    name.copy(ops.name, sizeof(ops.name) - 1);
    ops.alloc = [](rte_mempool*) { return 0; };
    ops.free = [](rte_mempool*) {};
    ops.enqueue = Enqueue;
    ops.dequeue = [](rte_mempool*, void**, unsigned) { return -ENOENT; };
    ops.get_count = [](const rte_mempool*) { return 0U; };
    const int index = rte_mempool_register_ops(&ops);
    Require(index >= 0);
    static rte_mempool returns{};
    returns.ops_index = index;
    return &returns;
  }();
  return pool;
}

struct Frame {
  std::vector<uint8_t> bytes;
  std::vector<size_t> lengths;  // The last segment takes what is left.
  uint64_t rx_offloads = 0;
  uint64_t tx_offloads = 0;
  uint64_t flags = 0;  // RTE_MBUF_F_RX_*.

  Frame Whole() const {
    Frame whole = *this;
    whole.lengths.clear();
    return whole;
  }
  Frame With(std::vector<uint8_t> other) const {
    Frame frame = *this;
    frame.bytes = std::move(other);
    return frame;
  }
  Frame WithoutOffloads() const {
    Frame frame = *this;
    frame.rx_offloads = frame.tx_offloads = 0;
    return frame;
  }
};

class Packet {
 public:
  explicit Packet(const Frame& frame) {
    size_t at = 0;
    for (size_t i = 0; i <= frame.lengths.size(); ++i) {
      const size_t left = frame.bytes.size() - at;
      const size_t n = i < frame.lengths.size() ? std::min(frame.lengths[i], left) : left;
      if (i > 0 && n == 0 && left == 0) break;
      segments_.push_back(std::make_unique<Segment>(Returns(), frame.bytes.data() + at, n, i == 0));
      if (i > 0) Require(rte_pktmbuf_chain(head(), segments_.back().get()) == 0);
      at += n;
    }
    head()->ol_flags |= frame.flags;
    head()->vlan_tci = 5;
    head()->vlan_tci_outer = 6;
  }

  rte_mbuf* head() const { return segments_.front().get(); }
  bool GuardsHold() const {
    return std::ranges::all_of(segments_, [](const auto& s) { return s->GuardsHold(); });
  }
  bool Gone() const {
    return std::ranges::all_of(segments_, [](const auto& s) { return s->freed; });
  }
  bool CutAsBefore() const {
    return std::ranges::all_of(segments_, [](const auto& s) {
      return !s->freed && s->data_off == s->begin && s->data_len == s->end - s->begin;
    });
  }

 private:
  std::vector<std::unique_ptr<Segment>> segments_;
};

struct Outcome {
  std::optional<std::vector<uint8_t>> sent;
  uint64_t tx_flags = 0;
  uint64_t tx_offload = 0;
  std::map<unsigned, uint64_t> dropped;
  std::map<unsigned, uint64_t> counts;  // No zeros.

  friend bool operator==(const Outcome&, const Outcome&) = default;
  uint64_t Counted(unsigned counter) const {
    const auto it = counts.find(counter);
    return it == counts.end() ? 0 : it->second;
  }
};

template <class S>
Outcome Run(const Frame& frame, bool rewrites) {
  const Configuration configuration;
  auto stage = S::Create(
      StageContext{.configuration = configuration,
                   .lcore = 0,
                   .rx = {{.port = 0, .queue = 0, .peer = 0, .offloads = frame.rx_offloads}},
                   .tx = {{.port = 1,
                           .queue = 0,
                           .mac = {{2, 0, 0, 0, 0, 1}},
                           .source = false,
                           .offloads = frame.tx_offloads}},
                   .mempool = nullptr});
  Require(stage.ok());
  const Packet packet(frame);
  Outcome outcome;
  {
    RecordedOutlets out;
    std::array<rte_mbuf*, 1> mbufs = {packet.head()};
    stage->Process(Burst{mbufs, 0}, out);
    Require(packet.GuardsHold());
    Require(out.sent.size() + out.dropped.size() == 1 && out.made == 0);
    if (!out.sent.empty()) {
      const rte_mbuf* const mbuf = out.sent[0].second;
      const char* reason = nullptr;
      Require(mbuf == packet.head() && rte_mbuf_check(mbuf, 1, &reason) == 0);
      Require(!rewrites || packet.CutAsBefore());
      outcome.sent = BytesOf(mbuf);
      outcome.tx_flags = mbuf->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK;
      outcome.tx_offload = mbuf->tx_offload;
    } else {
      Require(packet.Gone());
    }
    outcome.dropped = out.dropped;
    for (const auto& [counter, n] : out.counts) {
      if (n > 0) outcome.counts[counter] = n;
    }
  }
  Require(packet.Gone());
  return outcome;
}

// Of the frame in its segments, which is that of the frame in one piece.
template <class S>
Outcome Both(const Frame& frame) {
  const Outcome cut = Run<S>(frame, true);
  Require(cut == Run<S>(frame.Whole(), true));
  return cut;
}

// Why there is no answer may differ in one way: what asks nothing is known for that at once where
// its headers are in one segment, even if something is wrong with it.
std::optional<std::vector<uint8_t>> Answer(const Frame& frame) {
  constexpr unsigned kNoRequest = static_cast<unsigned>(Unanswered::kNoRequest) - 1;
  const Outcome cut = Run<IcmpEcho>(frame, false);
  const Outcome whole = Run<IcmpEcho>(frame.Whole(), false);
  Require(cut == whole || (!cut.sent && !whole.sent && whole.dropped.contains(kNoRequest)));
  return cut.sent;
}

// What there is to be seen of a packet in segments is seen of it in one piece; more only where it
// is behind the head.
bool SameHead(const Frame& frame) {
  const Packet cut(frame);
  const Packet whole(frame.Whole());
  PacketHead head(cut.head());
  const Dissection& d = head.dissection();
  if (d.fault == FrameFault::kBeyondHead) return false;
  const Dissection w = PacketHead(whole.head()).dissection();
  const auto all = [](const Dissection& of) {
    return std::make_tuple(of.fault, of.network, of.transport, of.fragment, of.vlan_tags,
                           of.network_offset, of.transport_offset, of.packet_end, of.source_offset,
                           of.destination_offset);
  };
  Require(all(d) == all(w));
  head.Store();
  Require(BytesOf(cut.head()) == frame.bytes && cut.GuardsHold() && cut.CutAsBefore());
  return true;
}

// Whether the checksums are over the addresses of the IP header, which 5tswap exchanges.
bool SumsOverHeader(const Frame& frame) {
  const Packet packet(frame.Whole());
  const Dissection d = PacketHead(packet.head()).dissection();
  const bool four = d.network == Network::kIpv4;
  return d.source_offset == d.network_offset + (four ? offsetof(Ipv4Header, source)
                                                     : offsetof(Ipv6Header, source)) &&
         d.destination_offset == d.network_offset + (four ? offsetof(Ipv4Header, destination)
                                                          : offsetof(Ipv6Header, destination));
}

// There is nothing for csum to put right.
void CheckSums(const Frame& frame) {
  const Outcome again = Both<Csum>(frame.WithoutOffloads());
  Require(again.Counted(Csum::kBadIp) == 0 && again.Counted(Csum::kBadTransport) == 0);
  // But for the addresses.
  Require(again.sent && again.sent->size() == frame.bytes.size());
  Require(std::equal(again.sent->begin() + kMacPairBytes, again.sent->end(),
                     frame.bytes.begin() + kMacPairBytes));
}

void CheckRewriting(const Frame& frame) {
  const Outcome set = Both<MacSet>(frame);
  const Outcome swapped = Both<MacSwap>(frame);
  const Outcome turned = Both<FiveTupleSwap>(frame);
  const Outcome repaired = Both<Csum>(frame);
  const bool runt = frame.bytes.size() < kEthernetHeaderBytes;
  for (const Outcome* outcome : {&set, &swapped, &turned, &repaired}) {
    Require(outcome->sent.has_value() != runt);
    Require(runt || outcome->sent->size() == frame.bytes.size());
  }
  if (runt) return;
  Require(Both<MacSwap>(frame.With(*swapped.sent)).sent == frame.bytes);
  Require(Both<FiveTupleSwap>(frame.With(*turned.sent)).sent == frame.bytes);
  const Frame right = frame.With(*Both<Csum>(frame.WithoutOffloads()).sent);
  CheckSums(right);
  if (SumsOverHeader(right)) CheckSums(right.With(*Both<FiveTupleSwap>(right).sent));
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace penstock;
  StartEal();
  constexpr size_t kFront = 3;
  constexpr size_t kMostBytes = 2000;
  const size_t cuts = size == 0 ? 0 : data[0] & 0xf;
  if (size < kFront + cuts || size > kMostBytes) return 0;
  Frame frame;
  frame.lengths.assign(data + kFront, data + kFront + cuts);
  frame.bytes.assign(data + kFront + cuts, data + size);
  const auto bit = [](uint8_t byte, unsigned which, uint64_t flag) {
    return (byte >> which & 1) != 0 ? flag : 0;
  };
  if ((data[0] & 0x30) != 0) frame.flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
  if ((data[0] & 0x20) != 0) frame.flags |= RTE_MBUF_F_RX_QINQ | RTE_MBUF_F_RX_QINQ_STRIPPED;
  frame.rx_offloads = bit(data[1], 0, RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) |
                      bit(data[1], 1, RTE_ETH_RX_OFFLOAD_TCP_CKSUM) |
                      bit(data[1], 2, RTE_ETH_RX_OFFLOAD_UDP_CKSUM);
  frame.tx_offloads = bit(data[1], 3, RTE_ETH_TX_OFFLOAD_IPV4_CKSUM) |
                      bit(data[1], 4, RTE_ETH_TX_OFFLOAD_TCP_CKSUM) |
                      bit(data[1], 5, RTE_ETH_TX_OFFLOAD_UDP_CKSUM);
  frame.flags |=
      bit(data[2], 0, RTE_MBUF_F_RX_IP_CKSUM_BAD) | bit(data[2], 1, RTE_MBUF_F_RX_IP_CKSUM_GOOD) |
      bit(data[2], 2, RTE_MBUF_F_RX_L4_CKSUM_BAD) | bit(data[2], 3, RTE_MBUF_F_RX_L4_CKSUM_GOOD);
  if (!SameHead(frame)) return 0;
  CheckRewriting(frame);
  // An answer is a frame whose checksums are right.
  if (const auto answer = Answer(frame)) CheckSums(frame.With(*answer));
  return 0;
}
