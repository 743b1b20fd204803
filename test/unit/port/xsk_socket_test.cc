// SPDX-License-Identifier: BSD-3-Clause
//
// Real AF_XDP sockets, set up with bare system calls. Skips where there is no AF_XDP.

#include "lib/port/xsk_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstdlib>

#include "test/unit/port/sandbox.h"

namespace penstock {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kUmemBytes = 64 * 4096;

// A socket that is not bound; its rings are there all the same.
class XskSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    fd_ = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd_ < 0) GTEST_SKIP() << "no AF_XDP: " << strerror(errno);
    umem_ = mmap(nullptr, kUmemBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(umem_, MAP_FAILED);
  }

  void TearDown() override {
    for (const auto& [start, bytes] : maps_) munmap(start, bytes);
    if (fd_ >= 0) close(fd_);
    if (umem_ != nullptr) munmap(umem_, kUmemBytes);
  }

  void MakeRings(int descriptors, int umem_entries) {
    const xdp_umem_reg region = {.addr = reinterpret_cast<uint64_t>(umem_),
                                 .len = kUmemBytes,
                                 .chunk_size = 4096,
                                 .headroom = 0,
                                 .flags = 0};
    ASSERT_EQ(setsockopt(fd_, SOL_XDP, XDP_UMEM_REG, &region, sizeof(region)), 0);
    for (const int option : {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING}) {
      ASSERT_EQ(setsockopt(fd_, SOL_XDP, option, &umem_entries, sizeof(umem_entries)), 0);
    }
    for (const int option : {XDP_RX_RING, XDP_TX_RING}) {
      ASSERT_EQ(setsockopt(fd_, SOL_XDP, option, &descriptors, sizeof(descriptors)), 0);
    }
    socklen_t length = sizeof(offsets_);
    ASSERT_EQ(getsockopt(fd_, SOL_XDP, XDP_MMAP_OFFSETS, &offsets_, &length), 0);
    rx_ = Map(XDP_PGOFF_RX_RING, offsets_.rx.desc + static_cast<size_t>(descriptors) * 16);
    tx_ = Map(XDP_PGOFF_TX_RING, offsets_.tx.desc + static_cast<size_t>(descriptors) * 16);
    fill_ = Map(XDP_UMEM_PGOFF_FILL_RING, offsets_.fr.desc + static_cast<size_t>(umem_entries) * 8);
    completion_ = Map(XDP_UMEM_PGOFF_COMPLETION_RING,
                      offsets_.cr.desc + static_cast<size_t>(umem_entries) * 8);
  }

  char* Map(uint64_t page_offset, size_t bytes) {
    void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_,
                       static_cast<off_t>(page_offset));
    EXPECT_NE(start, MAP_FAILED);
    maps_.emplace_back(start, bytes);
    return static_cast<char*>(start);
  }

  int fd_ = -1;
  void* umem_ = nullptr;
  std::vector<std::pair<void*, size_t>> maps_;
  xdp_mmap_offsets offsets_ = {};
  char* rx_ = nullptr;
  char* tx_ = nullptr;
  char* fill_ = nullptr;
  char* completion_ = nullptr;
};

TEST_F(XskSocketTest, ListsAfXdpSocketsOnly) {
  const int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  EXPECT_THAT(XskSockets().value(), Contains(fd_));
  EXPECT_THAT(XskSockets().value(), Not(Contains(other)));
  const int second = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
  EXPECT_THAT(XskSockets().value(), ElementsAre(fd_, second));
  close(second);
  close(other);
  EXPECT_THAT(XskSockets().value(), ElementsAre(fd_));
}

TEST_F(XskSocketTest, ReadsTheRingsThroughTheirMappings) {
  MakeRings(128, 1024);
  const auto rings = XskRings::OfSocket(fd_, 128);
  ASSERT_TRUE(rings.ok()) << rings.status();
  SocketImage image = rings->Read().value();
  EXPECT_EQ(image.fill.chunks.size(), 1024u);
  EXPECT_EQ(image.completion.chunks.size(), 1024u);
  EXPECT_EQ(image.rx.chunks.size(), 128u);
  EXPECT_EQ(image.tx.chunks.size(), 128u);

  // As a driver in unaligned mode: the offset of the data stands in the upper 16 bits.
  const auto write = [](char* ring, const xdp_ring_offset& at, size_t entry_bytes, uint32_t slot,
                        uint64_t address) {
    std::memcpy(ring + at.desc + slot * entry_bytes, &address, sizeof(address));
    *reinterpret_cast<uint32_t*>(ring + at.producer) = slot + 1;
  };
  write(fill_, offsets_.fr, 8, 0, 4096);
  write(fill_, offsets_.fr, 8, 1, 8192);
  write(tx_, offsets_.tx, 16, 0, 12288 | (uint64_t{384} << 48));
  image = rings->Read().value();
  EXPECT_EQ(image.fill.producer, 2u);
  EXPECT_EQ(image.fill.consumer, 0u);
  EXPECT_EQ(image.tx.producer, 1u);
  EXPECT_EQ(image.rx.producer, 0u);
  EXPECT_EQ(image.completion.producer, 0u);
  EXPECT_THAT(HoldingsOf({&image, 1}).value().chunks, ElementsAre(4096, 8192, 12288));
}

TEST_F(XskSocketTest, SizesThatDoNotFitTheMappingsAreRefused) {
  MakeRings(512, 1024);
  EXPECT_TRUE(XskRings::OfSocket(fd_, 512).ok());
  for (const uint32_t wrong : {64u, 256u, 1024u}) {
    const absl::Status status = XskRings::OfSocket(fd_, wrong).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << wrong;
    EXPECT_THAT(status.message(), HasSubstr("RX ring"));
  }
}

TEST_F(XskSocketTest, SizesThatTheMappingsDoNotTellAreRefused) {
  MakeRings(512, 64);  // a page, as for 128 or 256 entries
  EXPECT_THAT(XskRings::OfSocket(fd_, 512).status().message(), HasSubstr("FILL ring"));
}

TEST_F(XskSocketTest, TellsHowOftenTheRxRingWasFull) {
  EXPECT_EQ(XskRxRingFull(fd_).value(), 0u);
  EXPECT_THAT(XskRxRingFull(-1).status().message(), HasSubstr("XDP_STATISTICS"));
}

TEST_F(XskSocketTest, ABudgetIsWithin32AndTheTxRing) {
  // The kernel wants to know the ring.
  EXPECT_FALSE(SetXskTxBudget(fd_, 32).ok());
  MakeRings(128, 1024);
  const absl::Status least = SetXskTxBudget(fd_, 32);
  if (absl::IsUnimplemented(least)) GTEST_SKIP() << least;
  EXPECT_TRUE(least.ok()) << least;
  EXPECT_TRUE(SetXskTxBudget(fd_, 128).ok());
  for (const uint32_t wrong : {0u, 31u, 129u, UINT32_MAX}) {
    const absl::Status status = SetXskTxBudget(fd_, wrong);
    EXPECT_TRUE(absl::IsOutOfRange(status)) << wrong << ": " << status;
  }
  EXPECT_THAT(SetXskTxBudget(-1, 32).message(), HasSubstr("XDP_MAX_TX_SKB_BUDGET, 32"));
}

TEST_F(XskSocketTest, TheSendBufferIsAtLeastWhatWasAskedFor) {
  int before = 0;
  socklen_t length = sizeof(before);
  ASSERT_EQ(getsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &before, &length), 0);
  const auto wanted = static_cast<uint32_t>(before);
  SetXskSendBuffer(fd_, wanted);
  int after = 0;
  ASSERT_EQ(getsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &after, &length), 0);
  EXPECT_GE(after, before);
  EXPECT_FALSE(IsXskZeroCopy(fd_)) << "it is not bound";
}

TEST_F(XskSocketTest, WhatIsNoMappedSocketIsRefused) {
  EXPECT_TRUE(absl::IsNotFound(XskRings::OfSocket(fd_, 64).status()));
  const int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  EXPECT_THAT(XskRings::OfSocket(other, 64).status().message(), HasSubstr("XDP_MMAP_OFFSETS"));
  close(other);
  EXPECT_FALSE(XskRings::OfSocket(-1, 64).ok());
}

}  // namespace
}  // namespace penstock
