// SPDX-License-Identifier: BSD-3-Clause
//
// The driver's shared queue while its lcores are held up at any instruction: between a reservation
// and its mark, a mark and its slot, an index and its store, an address and its byte. A timer of
// each lcore does that, many thousand times a second. Every kind of packet, several reapers,
// completions that are late. The other side has every frame once, each lcore's in order.

#include <net/if.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <signal.h>
#include <time.h>

#include <array>
#include <atomic>
#include <fstream>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "test/integration/net_xsk/rig.h"

namespace penstock {
namespace {

constexpr uint32_t kFrames = 4000;
constexpr uint32_t kBytes = 90;
constexpr long kPeriodNs = 50000;
constexpr uint32_t kLongestHoldUpUs = 8;

// Less than a microsecond to several: the others get on meanwhile.
void HoldUp(int) {
  thread_local uint32_t turn = 0;
  const uint64_t start = rte_rdtsc();
  const uint64_t cycles = rte_get_tsc_hz() / 1000000 * (++turn % (kLongestHoldUpUs + 1));
  while (rte_rdtsc() - start < cycles) {
  }
}

// Holds up the thread that made it, until it ends.
class HeldUp {
 public:
  HeldUp() {
    struct sigaction action {};
    action.sa_handler = HoldUp;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR2;
    event._sigev_un._tid = rte_gettid();
    EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer_), 0);
    const itimerspec period{.it_interval = {0, kPeriodNs}, .it_value = {0, kPeriodNs}};
    EXPECT_EQ(timer_settime(timer_, 0, &period, nullptr), 0);
  }
  ~HeldUp() { timer_delete(timer_); }

 private:
  timer_t timer_{};
};

struct Work {
  TxQueueBase& queue;
  rte_mempool& umem;
  rte_mempool& other;
  std::atomic<bool> give_up{false};
};

void Fill(rte_mbuf* mbuf, const Frame& frame, size_t from, size_t bytes) {
  std::memcpy(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(bytes)), frame.data() + from, bytes);
}

// In turn: one mbuf of the UMEM, one that has to be copied, three segments. Null without mbufs.
rte_mbuf* MakeOne(Work& work, uint32_t number) {
  const Frame frame = NumberedFrame(rte_lcore_id() << 24 | number, kBytes);
  if (number % 3 == 1) {
    rte_mbuf* const mbuf = rte_pktmbuf_alloc(&work.other);
    if (mbuf != nullptr) Fill(mbuf, frame, 0, kBytes);
    return mbuf;
  }
  const unsigned parts = number % 3 == 0 ? 1 : 3;
  std::array<rte_mbuf*, 3> segments;
  if (rte_pktmbuf_alloc_bulk(&work.umem, segments.data(), parts) != 0) return nullptr;
  for (unsigned i = 0; i < parts; ++i) {
    Fill(segments[i], frame, i * kBytes / parts, kBytes / parts);
    if (i != 0) rte_pktmbuf_chain(segments[0], segments[i]);
  }
  return segments[0];
}

int SendAndReap(void* argument) {
  Work& work = *static_cast<Work*>(argument);
  const HeldUp held_up;
  for (uint32_t sent = 0; sent < kFrames && !work.give_up;) {
    std::array<rte_mbuf*, 8> burst;
    const uint32_t wanted = std::min(1 + (sent * 7 + rte_lcore_id()) % 8, kFrames - sent);
    uint16_t made = 0;
    while (made < wanted && (burst[made] = MakeOne(work, sent + made)) != nullptr) ++made;
    const uint16_t n = work.queue.BurstOf(burst.data(), made);
    rte_pktmbuf_free_bulk(burst.data() + n, made - n);
    sent += n;
    if (n < made || sent % 11 == 0) work.queue.Cleanup(1 + sent % 90);
  }
  return 0;
}

class XskStress : public XskTest {
 protected:
  void Race(unsigned lcores, bool inline_completion) {
    MakeWire();
    Shell("ethtool -K p1 gro on");
    std::ofstream("/sys/class/net/p1/threaded") << "1";
    Peer peer("p1");
    auto umem = std::shared_ptr<Umem>(Umem::Create(*pool_).value());
    const auto sockets = QueueSockets::Open({.interface = "p0",
                                             .ifindex = if_nametoindex("p0"),
                                             .umem = umem->start(),
                                             .umem_bytes = umem->bytes(),
                                             .chunk_bytes = umem->chunk_bytes(),
                                             .headroom_bytes = umem->headroom_bytes(),
                                             .fill_size = 64,
                                             .completion_size = 64,
                                             .tx_size = 64,
                                             .segments = true,
                                             .sndbuf_bytes = 1 << 20});
    ASSERT_TRUE(sockets.ok()) << sockets.status();
    TxQueue<Shared> queue({.descriptors = 64,
                           .free_threshold = 16,
                           .holder = 1,
                           .inline_completion = inline_completion});
    const std::atomic<uint32_t> max_frame{1518};
    const std::atomic<bool> removed{false};
    queue.Attach(**sockets, umem, true, max_frame, removed);
    Work work{queue, *pool_, *other_};
    const absl::Cleanup end = [&] {
      work.give_up = true;
      rte_eal_mp_wait_lcore();
      queue.Drain();
      queue.Detach();
    };
    for (unsigned lcore = 1; lcore <= lcores; ++lcore) {
      ASSERT_EQ(rte_eal_remote_launch(SendAndReap, &work, lcore), 0);
    }
    std::array<uint32_t, 8> seen{};
    for (uint32_t total = 0; total < lcores * kFrames; ++total) {
      // This lcore only reaps, and kicks what others left behind.
      queue.Cleanup(1 + total % 70);
      const std::vector<Frame> frame = peer.Receive(1);
      ASSERT_EQ(frame.size(), 1u) << "after " << total;
      const uint32_t lcore = NumberOf(frame[0]) >> 24;
      ASSERT_LT(lcore, seen.size());
      ASSERT_EQ(frame[0], NumberedFrame(lcore << 24 | seen[lcore], kBytes)) << "lcore " << lcore;
      ++seen[lcore];
    }
    rte_eal_mp_wait_lcore();
    EXPECT_TRUE(peer.IsQuiet()) << "nothing twice";
    queue.Drain();
    EXPECT_EQ(queue.Inside(), 0u);
    const TxTotals totals = queue.Totals();
    EXPECT_EQ(totals.packets, lcores * kFrames);
    EXPECT_EQ(totals.bad_completions + totals.in_flight_twice + totals.dropped + totals.unsent, 0u);
    EXPECT_EQ(umem->in_flight().Count(1), 0u);
  }
};

TEST_F(XskStress, TwoLcoresHeldUpAnywhere) { Race(2, false); }
TEST_F(XskStress, ThreeLcoresThatReapEachBurst) { Race(3, true); }

}  // namespace
}  // namespace penstock
