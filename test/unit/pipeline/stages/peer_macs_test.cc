// SPDX-License-Identifier: BSD-3-Clause
//
// Addresses by RX slot: those of the port sent to, not of the port received from. Main lcore.

#include "lib/pipeline/stages/peer_macs.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(PeerMacs, AreThoseOfTheTxPort) {
  Configuration configuration;
  configuration.eth_peer[5] = {{0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f}};
  const MacAddress four{{2, 0, 0, 0, 4, 4}};
  const MacAddress five{{2, 0, 0, 0, 5, 5}};
  const auto macs = PeerMacs::Create(StageContext{.configuration = configuration,
                                                  .lcore = 1,
                                                  .rx = {{4, 0, 1}, {5, 0, 0}},
                                                  .tx = {{4, 0, four, false}, {5, 0, five, false}},
                                                  .mempool = nullptr});
  ASSERT_TRUE(macs.ok()) << macs.status();
  EXPECT_EQ((*macs)[0].destination.Format(), "0a:0b:0c:0d:0e:0f");
  EXPECT_EQ((*macs)[0].source, five);
  EXPECT_EQ((*macs)[1].destination.Format(), "02:00:00:00:00:04");  // testpmd's default.
  EXPECT_EQ((*macs)[1].source, four);
  uint8_t frame[13] = {};
  SetMacPair(frame, (*macs)[0]);
  const uint8_t expected[13] = {0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 2, 0, 0, 0, 5, 5, 0};
  EXPECT_TRUE(std::equal(frame, frame + 13, expected));
}

TEST(PeerMacs, WithoutAPeerThereAreNone) {
  const Configuration configuration;
  EXPECT_FALSE(
      PeerMacs::Create(StageContext{configuration, 1, {{4, 0, kNoSlot}}, {}, nullptr}).ok());
}

}  // namespace
}  // namespace penstock
