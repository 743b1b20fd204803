// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of the pipeline are driven with: pools, numbered packets, and ports whose rings
// the test holds in its hands. Main lcore of a test process; EAL runs.
//
//   Pool pool(2000);
//   RingPort port({.rx_queues = 2, .ring_size = 256});
//   port.Give(0, pool, /*flow=*/7, 100);           // 100 packets now wait in RX queue 0
//   ...                                            // whatever is tested sends them
//   std::vector<Tag> sent = port.Take(0);          // what came out of TX queue 0, mbufs freed
//
// Packets carry a Tag, their flow and their number in it, so that a loss, a double and a change of
// order can each be told.

#ifndef PENSTOCK_TEST_UNIT_PIPELINE_RIG_H_
#define PENSTOCK_TEST_UNIT_PIPELINE_RIG_H_

#include <gtest/gtest.h>
#include <rte_dev.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace penstock {

// Names of things that EAL wants unique in the process.
inline std::string UniqueName(const char* kind) {
  static int count = 0;
  return std::string(kind) + std::to_string(count++);
}

// Lets other threads run until `condition` holds. A bound, not a measurement: what does not happen
// within it never will.
template <class Condition>
bool Eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

struct Tag {
  uint32_t flow = 0;
  uint32_t number = 0;
  bool operator==(const Tag&) const = default;
};

inline constexpr uint16_t kTagOffset = 32;  // Behind the Ethernet header, wherever it ends.
inline constexpr uint16_t kPacketBytes = 64;

inline void SetTag(rte_mbuf* mbuf, const Tag& tag) {
  std::memcpy(rte_pktmbuf_mtod_offset(mbuf, uint8_t*, kTagOffset), &tag, sizeof(tag));
}

// Also of a packet whose segments divide the tag.
inline Tag TagOf(const rte_mbuf* mbuf) {
  Tag tag;
  Tag copy;
  const void* at = rte_pktmbuf_read(mbuf, kTagOffset, sizeof(tag), &copy);
  if (at != nullptr) std::memcpy(&tag, at, sizeof(tag));
  return tag;
}

inline std::vector<Tag> Tags(uint32_t flow, uint32_t first, uint32_t count) {
  std::vector<Tag> tags;
  for (uint32_t i = 0; i < count; ++i) tags.push_back({flow, first + i});
  return tags;
}

class Pool {
 public:
  // No cache: InUse() is exact whoever freed.
  explicit Pool(unsigned mbufs, uint16_t data_room_bytes = RTE_MBUF_DEFAULT_BUF_SIZE)
      : pool_(rte_pktmbuf_pool_create(UniqueName("rig_pool").c_str(), mbufs, 0, 0, data_room_bytes,
                                      SOCKET_ID_ANY)) {
    EXPECT_NE(pool_, nullptr);
  }
  ~Pool() {
    EXPECT_EQ(InUse(), 0U) << "mbufs of this pool are lost";
    rte_mempool_free(pool_);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  rte_mempool* get() const { return pool_; }
  unsigned InUse() const { return rte_mempool_in_use_count(pool_); }

  rte_mbuf* Packet(const Tag& tag, uint16_t bytes = kPacketBytes) {
    rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool_);
    EXPECT_NE(mbuf, nullptr);
    std::memset(rte_pktmbuf_append(mbuf, bytes), 0, bytes);
    SetTag(mbuf, tag);
    return mbuf;
  }

  // The same packet of many segments, the tag and a byte pattern laid across them.
  rte_mbuf* Chain(const Tag& tag, const std::vector<uint16_t>& segment_bytes) {
    std::vector<uint8_t> bytes;
    for (uint16_t segment : segment_bytes) bytes.resize(bytes.size() + segment);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7);
    std::memcpy(bytes.data() + kTagOffset, &tag, sizeof(tag));
    rte_mbuf* head = nullptr;
    size_t at = 0;
    for (uint16_t segment : segment_bytes) {
      rte_mbuf* const mbuf = rte_pktmbuf_alloc(pool_);
      EXPECT_NE(mbuf, nullptr);
      std::memcpy(rte_pktmbuf_append(mbuf, segment), bytes.data() + at, segment);
      at += segment;
      if (head == nullptr) {
        head = mbuf;
      } else {
        EXPECT_EQ(rte_pktmbuf_chain(head, mbuf), 0);
      }
    }
    return head;
  }

 private:
  rte_mempool* pool_;
};

// A net_ring port. Give() fills its RX queues, Take() empties its TX queues. At the end it is
// closed, if nobody did that before, and the mbufs left in its rings are freed.
class RingPort {
 public:
  struct Shape {
    uint16_t rx_queues = 1;
    uint16_t tx_queues = 1;
    unsigned ring_size = 1024;  // A power of two; one less fits.
    bool loop = false;          // What is sent to a queue is received from it.
  };

  explicit RingPort(const Shape& shape) : name_(UniqueName("rig")) {
    for (uint16_t i = 0; i < shape.rx_queues; ++i) rx_.push_back(Ring(shape.ring_size));
    for (uint16_t i = 0; i < shape.tx_queues; ++i) {
      tx_.push_back(shape.loop ? rx_[i] : Ring(shape.ring_size));
    }
    const int port = rte_eth_from_rings(name_.c_str(), rx_.data(), shape.rx_queues, tx_.data(),
                                        shape.tx_queues, 0);
    EXPECT_GE(port, 0) << rte_strerror(rte_errno);
    port_ = static_cast<uint16_t>(port);
    device_ = "net_ring_" + name_;
  }
  RingPort() : RingPort(Shape{}) {}

  ~RingPort() {
    if (Open()) {
      rte_eth_dev_stop(port_);
      rte_eth_dev_close(port_);
    }
    rte_eal_hotplug_remove("vdev", device_.c_str());
    for (rte_ring* ring : owned_) {
      void* object = nullptr;
      while (rte_ring_dequeue(ring, &object) == 0) {
        rte_pktmbuf_free(static_cast<rte_mbuf*>(object));
      }
      rte_ring_free(ring);
    }
  }
  RingPort(const RingPort&) = delete;
  RingPort& operator=(const RingPort&) = delete;

  uint16_t port() const { return port_; }
  bool Open() const {
    uint16_t port = 0;
    return rte_eth_dev_get_port_by_name(device_.c_str(), &port) == 0;
  }

  // Configures and starts it, for tests below the Runtime.
  void Start(Pool& pool) {
    rte_eth_conf conf{};
    const auto rx = static_cast<uint16_t>(rx_.size());
    const auto tx = static_cast<uint16_t>(tx_.size());
    ASSERT_EQ(rte_eth_dev_configure(port_, rx, tx, &conf), 0);
    for (uint16_t i = 0; i < rx; ++i) {
      ASSERT_EQ(rte_eth_rx_queue_setup(port_, i, 64, 0, nullptr, pool.get()), 0);
    }
    for (uint16_t i = 0; i < tx; ++i) {
      ASSERT_EQ(rte_eth_tx_queue_setup(port_, i, 64, 0, nullptr), 0);
    }
    ASSERT_EQ(rte_eth_dev_start(port_), 0);
  }

  // Puts packets number `first` … of `flow` into an RX queue, as many as fit; returns how many.
  uint32_t Give(uint16_t queue, Pool& pool, uint32_t flow, uint32_t count, uint32_t first = 0) {
    for (uint32_t i = 0; i < count; ++i) {
      if (rte_ring_full(rx_[queue])) return i;
      rte_mbuf* const mbuf = pool.Packet({flow, first + i});
      EXPECT_EQ(rte_ring_enqueue(rx_[queue], mbuf), 0);
    }
    return count;
  }
  void Give(uint16_t queue, rte_mbuf* mbuf) { ASSERT_EQ(rte_ring_enqueue(rx_[queue], mbuf), 0); }

  // Takes and frees all that a TX queue holds now.
  std::vector<Tag> Take(uint16_t queue) {
    std::vector<Tag> tags;
    void* object = nullptr;
    while (rte_ring_dequeue(tx_[queue], &object) == 0) {
      auto* const mbuf = static_cast<rte_mbuf*>(object);
      tags.push_back(TagOf(mbuf));
      rte_pktmbuf_free(mbuf);
    }
    return tags;
  }

  unsigned Waiting(uint16_t queue) const { return rte_ring_count(rx_[queue]); }
  unsigned Sent(uint16_t queue) const { return rte_ring_count(tx_[queue]); }

 private:
  rte_ring* Ring(unsigned size) {
    rte_ring* const ring = rte_ring_create(UniqueName("rig_ring").c_str(), size, SOCKET_ID_ANY, 0);
    EXPECT_NE(ring, nullptr);
    owned_.push_back(ring);
    return ring;
  }

  std::string name_;
  std::string device_;
  uint16_t port_ = 0;
  std::vector<rte_ring*> owned_;
  std::vector<rte_ring*> rx_;
  std::vector<rte_ring*> tx_;
};

// A net_null port: an endless source of packets of 64 zero bytes and a bottomless sink.
class NullPort {
 public:
  explicit NullPort(const char* arguments = "") : device_(UniqueName("net_null_rig")) {
    EXPECT_EQ(rte_eal_hotplug_add("vdev", device_.c_str(), arguments), 0);
    EXPECT_EQ(rte_eth_dev_get_port_by_name(device_.c_str(), &port_), 0);
  }
  ~NullPort() { rte_eal_hotplug_remove("vdev", device_.c_str()); }
  NullPort(const NullPort&) = delete;
  NullPort& operator=(const NullPort&) = delete;

  uint16_t port() const { return port_; }
  const std::string& name() const { return device_; }

 private:
  std::string device_;
  uint16_t port_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TEST_UNIT_PIPELINE_RIG_H_
