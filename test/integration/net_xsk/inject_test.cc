// SPDX-License-Identifier: BSD-3-Clause
//
// What the driver never writes, written into its rings by hand, and what the kernel then answers:
// descriptors that it refuses, and completions of what was not sent. Nothing is freed twice,
// nothing spins, and every mbuf is back after the queue has stopped.

#include <rte_ethdev.h>

#include <vector>

#include "test/integration/net_xsk/rig.h"

namespace penstock {
namespace {

constexpr uint32_t kTxMetadata = 1u << 1;  // XDP_TX_METADATA, which the headers may lack

class XskInject : public XskTest {
 protected:
  // The TX ring holds these frames, which were not sent because the link is down.
  void Hold(uint32_t frames) {
    Shell("ip link set p0 down");
    for (uint32_t i = 0; i < frames; ++i) {
      rte_mbuf* mbuf = Make(NumberedFrame(i));
      ASSERT_EQ(rte_eth_tx_burst(id_, 0, &mbuf, 1), 1);
    }
    ASSERT_EQ(Waiting(), frames);
  }
  void LetGo() { Shell("ip link set p0 up"); }
  uint32_t Waiting() { return *tx().producer - *tx().consumer; }
  const RingMemory<xdp_desc>& tx() { return port().sockets(0).tx(); }
};

// The kernel refuses such a descriptor at every call, never consumes it, and completes it each
// time.
TEST_F(XskInject, ARefusedDescriptorIsCompletedAgainAndAgainAndFreedOnce) {
  for (const uint64_t offloads : {uint64_t{0}, uint64_t{RTE_ETH_TX_OFFLOAD_MT_LOCKFREE}}) {
    MakeWire();
    Peer peer("p1");
    Open({.tx_offloads = offloads});
    Hold(2);
    tx().entries[0].options |= kTxMetadata;
    LetGo();
    const uint64_t before = Xstats()["tx_q0_sends"];
    for (int i = 0; i < 20; ++i) rte_eth_tx_done_cleanup(id_, 0, 0);
    const auto stats = Xstats();
    if (stats.at("tx_q0_send_einval") == 0) GTEST_SKIP() << "this kernel takes it";
    EXPECT_EQ(stats.at("tx_q0_sends") - before, 20u) << "no call is tried again by itself";
    EXPECT_EQ(stats.at("tx_q0_send_einval"), 20u);
    EXPECT_EQ(stats.at("tx_q0_reaped"), 1u);
    EXPECT_EQ(stats.at("tx_q0_bad_completion"), 19u);
    EXPECT_EQ(Waiting(), 2u);
    ASSERT_EQ(rte_eth_dev_stop(id_), 0);
    EXPECT_EQ(Xstats()["tx_q0_unsent_at_stop"], 2u);
    EXPECT_EQ(Stats().opackets, 0u);
    EXPECT_EQ(Stats().obytes, 0u);
    Close();
    Shell("ip link del p0");
  }
}

// The kernel leaves out a descriptor that points nowhere, and completes it (6.18) or not (before).
TEST_F(XskInject, AnInvalidDescriptorCostsNoOtherAndNoChunk) {
  MakeWire();
  Peer peer("p1");
  const struct {
    void (*spoil)(xdp_desc&);
    const char* why;
  } rows[] = {
      {[](xdp_desc& d) { d.len = 0; }, "no bytes"},
      {[](xdp_desc& d) { d.len = 1 << 20; }, "longer than a chunk"},
      {[](xdp_desc& d) { d.addr = uint64_t{1} << 40; }, "behind the UMEM"},
      {[](xdp_desc& d) { d.options = 1 << 7; }, "an option that is none"},
  };
  for (const auto& row : rows) {
    Open({});
    Hold(3);
    row.spoil(tx().entries[1]);
    LetGo();
    WaitUntil(
        [&] {
          rte_eth_tx_done_cleanup(id_, 0, 0);
          return Waiting() == 0;
        },
        "the ring to be empty");
    const std::vector<Frame> seen = peer.Receive(2);
    const auto stats = Xstats();
    if (stats.at("tx_q0_xdp_tx_invalid_descs") == 1) {
      EXPECT_EQ(seen, (std::vector<Frame>{NumberedFrame(0), NumberedFrame(2)})) << row.why;
    } else {
      ADD_FAILURE() << row.why << ": the kernel took it";
    }
    EXPECT_LE(stats.at("tx_q0_bad_completion"), 1u) << row.why;
    EXPECT_LE(Tx().Inside(), 1u) << row.why;
    EXPECT_EQ(Stats().oerrors, 1u) << row.why;
    EXPECT_EQ(Stats().opackets, 2u) << row.why;
    Close();
  }
}

TEST_F(XskInject, AWrongCompletionIsCountedAndNotFreed) {
  for (const uint64_t offloads : {uint64_t{0}, uint64_t{RTE_ETH_TX_OFFLOAD_MT_LOCKFREE}}) {
    MakeWire();
    Peer peer("p1");
    Open({.tx_offloads = offloads});
    Send({Make(NumberedFrame(0)), Make(NumberedFrame(1)), Make(NumberedFrame(2))});
    ASSERT_EQ(peer.Receive(3).size(), 3u);
    // COMPLETION holds three addresses. The second becomes the first again, the third nonsense.
    const RingMemory<uint64_t>& ring = port().sockets(0).completion();
    ASSERT_EQ(*ring.producer - *ring.consumer, 3u);
    ring.entries[1] = ring.entries[0];
    ring.entries[2] = 12345;
    EXPECT_EQ(rte_eth_tx_done_cleanup(id_, 0, 0), 1);
    EXPECT_EQ(Xstats()["tx_q0_bad_completion"], 2u);
    EXPECT_EQ(Tx().Inside(), 2u) << "still out, until the queue stops";
    // The queue works on with what it has.
    Send({Make(NumberedFrame(3))});
    EXPECT_EQ(peer.Receive(1).size(), 1u);
    Close();
    Shell("ip link del p0");
  }
}

// A chunk that the RX side has given to the kernel is not TX's to free, nor the other way round.
TEST_F(XskInject, ACompletionOfAnotherQueuesChunkIsNotBelieved) {
  MakeWire();
  Peer peer("p1");
  Open({});
  Send({Make(NumberedFrame(0))});
  ASSERT_EQ(peer.Receive(1).size(), 1u);
  const RingMemory<uint64_t>& completion = port().sockets(0).completion();
  completion.entries[0] = port().sockets(0).fill().entries[7];
  EXPECT_EQ(rte_eth_tx_done_cleanup(id_, 0, 0), 0);
  EXPECT_EQ(Xstats()["tx_q0_bad_completion"], 1u);
  // What FILL has is received as before.
  for (uint32_t i = 0; i < 20; ++i) peer.Send(NumberedFrame(i));
  EXPECT_EQ(Receive(20).size(), 20u);
  EXPECT_EQ(Xstats()["rx_q0_bad_address"], 0u);
}

TEST_F(XskInject, AWrongAddressOutOfRxIsCountedAndNotDelivered) {
  MakeWire();
  Peer peer("p1");
  Open({});
  for (uint32_t i = 0; i < 3; ++i) peer.Send(NumberedFrame(i));
  WaitUntil([&] { return rte_eth_rx_queue_count(id_, 0) == 3; }, "three frames");
  const RingMemory<xdp_desc>& ring = port().sockets(0).rx();
  ring.entries[1].addr = ring.entries[0].addr;
  ring.entries[2].addr = ~uint64_t{0};
  EXPECT_EQ(Receive(1), std::vector<Frame>{NumberedFrame(0)});
  EXPECT_EQ(Xstats()["rx_q0_bad_address"], 2u);
}

}  // namespace
}  // namespace penstock
