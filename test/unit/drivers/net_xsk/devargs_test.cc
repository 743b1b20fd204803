// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/xsk/devargs.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using testing::HasSubstr;

TEST(XskDevargs, DefaultsAreTheGoodNeighbours) {
  const absl::StatusOr<XskOptions> options = ParseXskDevargs("net_xsk0", "iface=eth0");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->interface, "eth0");
  EXPECT_EQ(options->start_queue, 0u);
  EXPECT_EQ(options->queue_count, 0u);
  EXPECT_EQ(options->bind, BindMode::kAuto);
  EXPECT_EQ(options->attach, AttachMode::kAuto);
  EXPECT_EQ(options->budget, 0u);
  EXPECT_EQ(options->busy_budget, 0u);
  EXPECT_FALSE(options->inline_completion);
  EXPECT_FALSE(options->check_owner);
  EXPECT_EQ(options->filter.config.everything, 1);
}

TEST(XskDevargs, ReadsEveryKey) {
  const absl::StatusOr<XskOptions> options = ParseXskDevargs(
      "net_xsk0",
      "iface=eth0,start_queue=2,queue_count=3,bind=copy,xdp_mode=skb,budget=128,sndbuf=100000,"
      "busy_budget=64,completion=inline,check_owner=1,filter=[udp:4789,esp]");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->start_queue, 2u);
  EXPECT_EQ(options->queue_count, 3u);
  EXPECT_EQ(options->bind, BindMode::kCopy);
  EXPECT_EQ(options->attach, AttachMode::kSkb);
  EXPECT_EQ(options->budget, 128u);
  EXPECT_EQ(options->sndbuf_bytes, 100000u);
  EXPECT_EQ(options->busy_budget, 64u);
  EXPECT_TRUE(options->inline_completion);
  EXPECT_TRUE(options->check_owner);
  EXPECT_EQ(options->filter.config.everything, 0);
  EXPECT_EQ(options->filter.config.udp_port[0], htons(4789));
  EXPECT_EQ(ParseXskDevargs("x", "iface=eth0,budget=auto,bind=zerocopy,xdp_mode=native")->bind,
            BindMode::kZeroCopy);
  EXPECT_EQ(ParseXskDevargs("x", "iface=eth0,xdp_prog=/a/b.o")->program_file, "/a/b.o");
}

TEST(XskDevargs, RefusesWithOneLineThatSaysWhatIsAccepted) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "net_xsk0: devarg iface is missing; say --vdev=net_xsk0,iface=eth0"},
      {"iface=", "devarg iface=: accepted is the name of an interface, 1…15 characters"},
      {"iface=abcdefghijklmnop", "1…15 characters"},
      {"iface=e,queue_count=0", "devarg queue_count=0: accepted is 1…65535"},
      {"iface=e,start_queue=-1", "devarg start_queue=-1: accepted is 0…65535"},
      {"iface=e,budget=31", "devarg budget=31: accepted is auto, or 32"},
      {"iface=e,budget=1x", "accepted is auto, or 32"},
      {"iface=e,sndbuf=1", "devarg sndbuf=1: accepted is 4096…"},
      {"iface=e,bind=zero", "devarg bind=zero: accepted is auto, copy, zerocopy"},
      {"iface=e,xdp_mode=drv", "devarg xdp_mode=drv: accepted is auto, native, skb"},
      {"iface=e,completion=later", "devarg completion=later: accepted is stage, inline"},
      {"iface=e,check_owner=2", "accepted is 0, 1"},
      {"iface=e,filter=[tcp:1]", "filter rule 'tcp:1': unknown; accepted are udp:PORT"},
      {"iface=e,queues=1", "unknown devarg 'queues'; there are: iface="},
      {"iface=e,bind=copy,bind=copy", "devarg bind is given twice"},
      {"iface=e,start_queue=65536", "devarg start_queue=65536: accepted is 0…65535"},
      {"iface=e,queue_count=4294967297", "devarg queue_count=4294967297: accepted is 1…65535"},
      {"iface=e,queue_count=0x2", "devarg queue_count=0x2: accepted is 1…65535"},
      {"iface=e,budget=", "devarg budget=: accepted is auto, or 32"},
      {"iface=e,budget=32769", "devarg budget=32769: accepted is auto, or 32"},
      {"iface=e,sndbuf=1073741825", "devarg sndbuf=1073741825: accepted is 4096…1073741824"},
      {"iface=e,busy_budget=65536", "devarg busy_budget=65536: accepted is 0…65535"},
      {"iface=e,bind", "devarg bind=: accepted is auto, copy, zerocopy"},
      {"iface=e,bind=COPY", "devarg bind=COPY: accepted is auto, copy, zerocopy"},
      {"iface=e,filter=", "filter rule ''"},
      {"iface=e,filter=[]", "filter rule ''"},
      {"iface=e,xdp_prog=", "devarg xdp_prog=: accepted is a BPF object file"},
      {"iface", "devarg iface=: accepted is the name of an interface"},
      {"iface=e,filter=[esp],xdp_prog=f", "filter= and xdp_prog= exclude each other"},
  };
  for (const auto& [arguments, message] : rows) {
    const absl::StatusOr<XskOptions> options = ParseXskDevargs("net_xsk0", arguments);
    ASSERT_FALSE(options.ok()) << arguments;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(message)) << arguments;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr("net_xsk0")) << arguments;
  }
}

}  // namespace
}  // namespace penstock
