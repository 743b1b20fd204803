// SPDX-License-Identifier: BSD-3-Clause
//
// xdp_prog=: what programs of others do to frames before the driver gets them, and objects that
// cannot serve. test/integration/xdp/edit.bpf.c does to a frame what it says.

#include <rte_ethdev.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "test/integration/net_xsk/rig.h"

namespace penstock {
namespace {

std::string ObjectFile(const std::string& name) {
  return absl::StrCat(PENSTOCK_TEST_XDP_FOLDER "/", name, ".bpf.o");
}

// A frame that tells the program what to do with it.
Frame Telling(uint32_t number, char action, uint8_t amount, size_t bytes = 100) {
  Frame frame = NumberedFrame(number, bytes);
  frame[18] = static_cast<uint8_t>(action);
  frame[19] = amount;
  return frame;
}

Frame Cut(Frame frame, size_t bytes) {
  frame.resize(bytes);  // what is added is 0, as the kernel has it
  return frame;
}

class XskProgram : public XskTest {
 protected:
  void OpenEditor(PortConfig config = {}) {
    config.devargs = absl::StrCat(",xdp_prog=", ObjectFile("edit"));
    Open(config);
  }
};

TEST_F(XskProgram, HalfOfTheFramesIsDroppedBeforeTheSocket) {
  MakeWire();
  Peer peer("p1");
  OpenEditor({.rx_descriptors = 64});
  // More than FILL has: a dropped frame must cost none.
  for (uint32_t round = 0; round < 20; ++round) {
    std::vector<Frame> kept;
    for (uint32_t i = 0; i < 40; ++i) {
      const Frame frame = Telling(round * 40 + i, i % 2 == 0 ? 'd' : '-', 0);
      peer.Send(frame);
      if (i % 2 != 0) kept.push_back(frame);
    }
    ASSERT_EQ(Receive(20), kept);
  }
  EXPECT_EQ(Stats().ipackets, 400u);
  EXPECT_EQ(Stats().imissed, 0u);
}

TEST_F(XskProgram, TailsAreCutAndAdded) {
  MakeWire();
  Peer peer("p1");
  OpenEditor();
  struct Row {
    Frame frame;
    size_t bytes;
  };
  const Row rows[] = {
      {Telling(0, 's', 1, 61), 60},       {Telling(1, 's', 40), 60},    {Telling(2, 's', 80), 20},
      {Telling(3, 's', 250, 1514), 1264}, {Telling(4, 'g', 1, 60), 61}, {Telling(5, 'g', 8), 108},
      {Telling(6, 'g', 12, 1514), 1526},  // more than the MTU, and not more than the kernel has
                                          // room for
  };
  for (const Row& row : rows) {
    peer.Send(row.frame);
    EXPECT_EQ(Receive(1), std::vector<Frame>{Cut(row.frame, row.bytes)}) << row.frame.size();
  }
}

TEST_F(XskProgram, TailsOfSeveralBuffersAreCut) {
  MakeWire(1, 9000);
  Peer peer("p1");
  OpenEditor({.rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER});
  for (const auto& [cut, bytes] : {std::pair{1, 8984}, {62, 8008}, {125, 7000}, {250, 5000}}) {
    const Frame frame = Telling(9, 'S', static_cast<uint8_t>(cut), 9000);
    peer.Send(frame);
    EXPECT_EQ(Receive(1), std::vector<Frame>{Cut(frame, static_cast<size_t>(bytes))}) << cut;
  }
}

TEST_F(XskProgram, MetadataStandsInFrontOfTheFrameAndTouchesNothing) {
  MakeWire();
  Peer peer("p1");
  OpenEditor();
  const Frame frame = Telling(1, 'm', 0xa5);
  peer.Send(frame);
  rte_mbuf* mbuf = nullptr;
  WaitUntil([&] { return rte_eth_rx_burst(id_, 0, &mbuf, 1) == 1; }, "a frame");
  const uint8_t* const data = rte_pktmbuf_mtod(mbuf, const uint8_t*);
  EXPECT_TRUE(std::equal(frame.begin(), frame.end(), data));
  EXPECT_EQ(mbuf->data_len, frame.size());
  EXPECT_TRUE(std::all_of(data - 32, data, [](uint8_t byte) { return byte == 0xa5; }));
  EXPECT_GE(rte_pktmbuf_headroom(mbuf), RTE_PKTMBUF_HEADROOM + 32);
  const char* reason = nullptr;
  EXPECT_EQ(rte_mbuf_check(mbuf, 1, &reason), 0) << reason;
  rte_pktmbuf_free(mbuf);
}

TEST_F(XskProgram, AnObjectThatCannotServeIsRefusedWithItsReason) {
  MakeWire();
  const std::string text_file = "/run/text.bpf.o";
  std::ofstream(text_file) << "no object\n";
  const std::pair<std::string, const char*> rows[] = {
      {"/run/nothere.o", "bpf_object__open(/run/nothere.o)"},
      {text_file, "bpf_object__open(/run/text.bpf.o)"},
      {ObjectFile("no_program"), "contains no program"},
      {ObjectFile("two_programs"), "contains several programs"},
      {ObjectFile("no_map"), "has no map named xsks_map of type BPF_MAP_TYPE_XSKMAP"},
      {ObjectFile("array"), "has no map named xsks_map of type BPF_MAP_TYPE_XSKMAP"},
      {ObjectFile("refused"), "bpf_object__load("},
  };
  for (const auto& [file, message] : rows) {
    testing::internal::CaptureStderr();
    EXPECT_NE(TryOpen({.devargs = absl::StrCat(",xdp_prog=", file)}), 0) << file;
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find(message), std::string::npos) << file << ": " << log;
    EXPECT_NE(log.find(file), std::string::npos) << log;
    Close();
  }
  Shell("ip link show p0 | grep -qv prog/xdp");
  Peer peer("p1");
  OpenEditor();
  peer.Send(Telling(1, '-', 0));
  EXPECT_EQ(Receive(1).size(), 1u);
}

// The map of the driver's program, and of a user's, is as large as the queues ask for.
TEST_F(XskProgram, TheLastOfManyQueuesHasItsSocket) {
  MakeWire(300);
  // By p1's queue 299, and so into that of p0.
  SendBy("p1", 299);
  Peer peer("p1");
  for (const char* program : {"", ",xdp_prog=" PENSTOCK_TEST_XDP_OBJECT}) {
    Open({.devargs = absl::StrCat(",start_queue=299", program)});
    peer.Send(NumberedFrame(8));
    EXPECT_EQ(Receive(1), std::vector<Frame>{NumberedFrame(8)}) << program;
    Send({Make(NumberedFrame(9))});
    EXPECT_EQ(peer.Receive(1), std::vector<Frame>{NumberedFrame(9)});
    Close();
  }
}

}  // namespace
}  // namespace penstock
