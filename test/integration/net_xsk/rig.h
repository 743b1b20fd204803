// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of net_xsk stand on: a veth pair in this process's own network namespace, a port
// on one end, a packet socket on the other. After each test the port is closed, and every mbuf has
// to be back in its mempool.

#ifndef PENSTOCK_TEST_INTEGRATION_NET_XSK_RIG_H_
#define PENSTOCK_TEST_INTEGRATION_NET_XSK_RIG_H_

#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "drivers/net/xsk/device.h"

namespace penstock {

struct Frame : std::vector<uint8_t> {
  using std::vector<uint8_t>::vector;
};
// A failed comparison shows what tells frames apart, not all their bytes.
void PrintTo(const Frame& frame, std::ostream* out);

// A frame of the local experimental ethertype, told apart by `number`.
Frame NumberedFrame(uint32_t number, size_t bytes = 60);
uint32_t NumberOf(const Frame& frame);

void Shell(const std::string& command);
// Asks until it is true; fails the test after some seconds.
void WaitUntil(const std::function<bool()>& condition, const char* what);

// The other end of the wire, as the kernel's packet socket sees it.
class Peer {
 public:
  explicit Peer(const char* interface);
  ~Peer();
  void Send(const Frame& frame);
  // The frames with our ethertype that come, in order: `count` of them, fewer if they stay out.
  std::vector<Frame> Receive(size_t count);
  bool IsQuiet();  // nothing is there now
  // Of each frame that is there, of whatever type, the byte at `offset`.
  void TakeAll(size_t offset, std::vector<uint8_t>& bytes);

 private:
  bool Next(Frame& frame, int patience_ms);
  int fd_ = -1;
};

struct PortConfig {
  std::string devargs = "";  // after iface=p0
  uint16_t rx_queues = 1;
  uint16_t tx_queues = 1;
  uint16_t rx_descriptors = 256;
  uint16_t tx_descriptors = 256;
  uint16_t tx_free_threshold = 0;
  uint64_t tx_offloads = 0;
  uint64_t rx_offloads = 0;
  bool rx_interrupts = false;
  uint16_t mtu = 0;
};

class XskTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Before Open.
  void MakeWire(unsigned queues = 1, unsigned mtu = 1500);
  // Plugs, configures and starts; the error of the step that failed, or 0.
  int TryOpen(const PortConfig& config);
  void Open(const PortConfig& config) { ASSERT_EQ(TryOpen(config), 0); }
  void Close();  // and looks at the mempools
  void ExpectAllMbufsBack();
  // From now on the kernel sends by this queue of an interface, whatever the frame.
  static void SendBy(const char* interface, unsigned queue);

  rte_mbuf* Make(const Frame& frame, rte_mempool* pool = nullptr);
  // Sends them all, reaping when there is no room.
  void Send(const std::vector<rte_mbuf*>& mbufs, uint16_t queue = 0);
  // `count` frames from an RX queue, fewer if they stay out.
  std::vector<Frame> Receive(size_t count, uint16_t queue = 0);
  // Reaps until no mbuf is in the TX queue.
  void ReapAll(uint16_t queue = 0);

  std::map<std::string, uint64_t> Xstats() const;
  rte_eth_stats Stats() const;
  TxQueueBase& Tx(uint16_t queue = 0);
  XskPort& port() { return DeviceOf(&rte_eth_devices[id_]).port; }

  uint16_t id_ = RTE_MAX_ETHPORTS;
  rte_mempool* pool_ = nullptr;   // the UMEM
  rte_mempool* other_ = nullptr;  // mbufs that have to be copied
  unsigned pool_mbufs_ = 4095;
};

}  // namespace penstock

#endif  // PENSTOCK_TEST_INTEGRATION_NET_XSK_RIG_H_
