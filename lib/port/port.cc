// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/port.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/log.h"
#include "lib/base/status.h"
#include "lib/port/dpdk_log.h"
#include "lib/port/port_failure.h"
#include "lib/port/recovery.h"
#include "lib/port/xsk_socket.h"
#include "lib/port/xsk_umem.h"

namespace penstock {

namespace {

// As much as a TX ring full of frames takes: what a frame costs beyond its bytes is less than 1
// KiB.
uint32_t SendBufferBytes(const PortSetup& setup) {
  return setup.rx_descriptors * (rte_pktmbuf_data_room_size(setup.mempool) + 1024u);
}

}  // namespace

absl::StatusOr<Port> Port::Open(uint16_t port, RunDirectory* run_directory) {
  PENSTOCK_ASSIGN_OR_RETURN(PortCapabilities capabilities, QueryCapabilities(port));
  Port result(std::move(capabilities), run_directory);
  const PortCapabilities& known = result.capabilities_;
  if (known.ifindex != 0) {
    PENSTOCK_ASSIGN_OR_RETURN(result.was_promiscuous_, IsPromiscuous(known.ifindex));
    if (known.leaves_xdp_program) {
      PENSTOCK_ASSIGN_OR_RETURN(result.found_programs_, AttachedXdpPrograms(known.ifindex));
    }
    // Before the port touches it: a life that ends here leaves nothing.
    result.record_ = {.name = known.interface,
                      .ifindex = known.ifindex,
                      .was_promiscuous = result.was_promiscuous_};
    PENSTOCK_RETURN_IF_ERROR(result.Record());
  }
  rte_eth_stats stats{};
  result.counts_ = !known.forgets_counts && rte_eth_stats_get(port, &stats) == 0;
  result.basis_ = result.Read();
  return result;
}

absl::Status Port::Record() {
  return run_directory_ == nullptr ? absl::OkStatus() : run_directory_->RecordInterface(record_);
}

absl::Status Port::MaySetUp(const PortSetup& setup) const {
  PENSTOCK_RETURN_IF_ERROR(CheckSetup(capabilities_, setup));
  if (!set_up_ || !capabilities_.sets_up_once) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      Where(), ": ", capabilities_.driver,
      " cannot change its queues, offloads or MTU once they are set up; stop penstock and start it "
      "with the options wanted"));
}

absl::Status Port::SetUp(const PortSetup& setup) {
  PENSTOCK_RETURN_IF_ERROR(MaySetUp(setup));
  if (capabilities_.hidden_sockets) {
    PENSTOCK_RETURN_IF_ERROR(
        WithContext(CheckXskSetUp(*setup.mempool, setup.rx_queues, setup.rx_descriptors), Where()));
    PENSTOCK_RETURN_IF_ERROR(WithContext(CheckPoolFitsUmem(*setup.mempool), Where()));
  }
  DpdkLogCapture said;
  const absl::Status status = Configure(setup);
  half_set_up_ = !status.ok();
  if (status.ok()) return status;
  return ExplainPortFailure(status, capabilities_.driver, said.Failed());
}

absl::Status Port::Configure(const PortSetup& setup) {
  rte_eth_dev_info info;
  if (const int error = rte_eth_dev_info_get(capabilities_.port, &info); error != 0) {
    return ErrnoStatus(error, absl::StrCat("rte_eth_dev_info_get, ", Where()));
  }
  flows_.PortIsSetUp();
  rte_eth_conf conf{};
  if (const uint64_t types = RssTypes(capabilities_, setup); types != 0) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = types;
  }
  // The effective offloads of a queue are the port's and its own.
  const Offloads offloads = EffectiveOffloads(capabilities_, setup);
  conf.rxmode.offloads = offloads.rx & info.rx_offload_capa;
  conf.txmode.offloads = offloads.tx & info.tx_offload_capa;
  if (setup.max_packet_bytes != 0) conf.rxmode.mtu = MtuOf(setup.max_packet_bytes);
  PENSTOCK_RETURN_IF_ERROR(RecordMtu(setup.max_packet_bytes));
  if (const int error =
          rte_eth_dev_configure(capabilities_.port, setup.rx_queues, setup.tx_queues, &conf);
      error != 0) {
    return ErrnoStatus(error, absl::StrCat("rte_eth_dev_configure(", setup.rx_queues, " rx, ",
                                           setup.tx_queues, " tx), ", Where()));
  }
  // From here on its queues may hold mbufs of the pool, whatever comes of it.
  set_up_ = true;
  for (uint16_t queue = 0; queue < setup.rx_queues; ++queue) {
    PENSTOCK_RETURN_IF_ERROR(SetUpRxQueue(queue, setup, offloads.rx));
  }
  rte_eth_txconf tx_conf = info.default_txconf;
  tx_conf.offloads = offloads.tx;
  if (const uint16_t threshold = FreeThreshold(capabilities_, setup); threshold != 0) {
    tx_conf.tx_free_thresh = threshold;
  }
  for (uint16_t queue = 0; queue < setup.tx_queues; ++queue) {
    const int error = rte_eth_tx_queue_setup(
        capabilities_.port, queue, setup.tx_descriptors,
        static_cast<unsigned>(rte_eth_dev_socket_id(capabilities_.port)), &tx_conf);
    if (error != 0) {
      return ErrnoStatus(error, absl::StrCat("rte_eth_tx_queue_setup(queue ", queue, ", ",
                                             setup.tx_descriptors, " descriptors), ", Where()));
    }
  }
  QueryFunctions(capabilities_);
  return SetMtu(setup.max_packet_bytes);
}

// What the interface has is put back in the end. Before rte_eth_dev_configure, for a driver may set
// the MTU there.
absl::Status Port::RecordMtu(uint16_t max_packet_bytes) {
  if (max_packet_bytes == 0 || capabilities_.ifindex == 0) return absl::OkStatus();
  const uint16_t mtu = MtuOf(max_packet_bytes);
  PENSTOCK_ASSIGN_OR_RETURN(const uint16_t found, InterfaceMtu(capabilities_.ifindex));
  if (found == mtu) return absl::OkStatus();
  if (record_.set_mtu == 0) record_.found_mtu = found;
  record_.set_mtu = mtu;
  return Record();
}

// Most virtual devices do not look at what rte_eth_dev_configure is told. Behind the queues, for
// the kernel allows an interface with an XDP program a shorter MTU than without.
absl::Status Port::SetMtu(uint16_t max_packet_bytes) {
  if (max_packet_bytes == 0) {
    if (record_.set_mtu == 0) return absl::OkStatus();
    PENSTOCK_RETURN_IF_ERROR(
        WithContext(SetInterfaceMtu(record_.ifindex, record_.found_mtu), Where()));
    record_.found_mtu = record_.set_mtu = 0;
    return Record();
  }
  const uint16_t mtu = MtuOf(max_packet_bytes);
  if (capabilities_.ifindex != 0) {
    PENSTOCK_ASSIGN_OR_RETURN(const uint16_t found, InterfaceMtu(capabilities_.ifindex));
    if (found == mtu) return absl::OkStatus();
  }
  const int error = rte_eth_dev_set_mtu(capabilities_.port, mtu);
  // A port without an MTU takes packets of any length.
  if (error == 0 || error == -ENOTSUP) return absl::OkStatus();
  return ErrnoStatus(
      error, absl::StrCat("--max-pkt-len=", max_packet_bytes + kFcsBytes, ": rte_eth_dev_set_mtu(",
                          mtu, "), ", Where(), ", which has its own limits"));
}

absl::Status Port::SetUpRxQueue(uint16_t queue, const PortSetup& setup, uint64_t offloads) {
  std::vector<int> before;
  if (capabilities_.hidden_sockets) {
    PENSTOCK_ASSIGN_OR_RETURN(before, XskSockets());
  }
  rte_eth_dev_info info;
  if (const int error = rte_eth_dev_info_get(capabilities_.port, &info); error != 0) {
    return ErrnoStatus(error, absl::StrCat("rte_eth_dev_info_get, ", Where()));
  }
  rte_eth_rxconf conf = info.default_rxconf;
  conf.offloads = offloads;
  const int error = rte_eth_rx_queue_setup(
      capabilities_.port, queue, setup.rx_descriptors,
      static_cast<unsigned>(rte_eth_dev_socket_id(capabilities_.port)), &conf, setup.mempool);
  // A program that is attached now and was not before is ours, whether the call succeeded or not:
  // if this is a driver that attaches one. Under any other port it is somebody else's.
  if (capabilities_.leaves_xdp_program && capabilities_.ifindex != 0) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<XdpProgram> programs,
                              AttachedXdpPrograms(capabilities_.ifindex));
    for (const XdpProgram& program : programs) {
      const bool found = std::ranges::any_of(
          found_programs_, [&](const XdpProgram& other) { return other.id == program.id; });
      if (found || program.id == record_.xdp_program_id) continue;
      record_.xdp_program_id = program.id;
      record_.xdp_mode = program.mode;
      PENSTOCK_RETURN_IF_ERROR(Record());
    }
  }
  if (error != 0) {
    std::string hint;
    for (const XdpProgram& program : found_programs_) {
      absl::StrAppend(&hint, "; interface ", capabilities_.interface, " carries XDP program ",
                      program.id, " (", program.name,
                      ") of someone else, which was left: remove it with 'ip link set dev ",
                      capabilities_.interface, " xdp off' if it is not needed");
    }
    return WithContext(
        ErrnoStatus(error, absl::StrCat("rte_eth_rx_queue_setup(queue ", queue, ", ",
                                        setup.rx_descriptors, " descriptors)", hint)),
        Where());
  }
  if (capabilities_.hidden_sockets) {
    PENSTOCK_ASSIGN_OR_RETURN(const std::vector<int> after, XskSockets());
    std::vector<int> made;
    std::ranges::set_difference(after, before, std::back_inserter(made));
    // Of two we would not know which to tune and to count.
    if (made.size() != 1) {
      return absl::InternalError(absl::StrCat(
          Where(), ": rte_eth_rx_queue_setup(queue ", queue, ") left ", made.size(),
          " new AF_XDP sockets instead of one; a thread beside penstock opens or closes some"));
    }
    sockets_.push_back({made[0], setup.rx_descriptors});
    SetXskSendBuffer(made[0], SendBufferBytes(setup));
  }
  return absl::OkStatus();
}

absl::Status Port::Start() {
  if (started_) return absl::OkStatus();
  DpdkLogCapture said;
  const auto failed = [&](int error, absl::string_view call) {
    return ExplainPortFailure(ErrnoStatus(error, absl::StrCat(call, ", ", Where())),
                              capabilities_.driver, said.Failed());
  };
  if (const int error = rte_eth_dev_start(capabilities_.port); error != 0) {
    return failed(error, "rte_eth_dev_start");
  }
  started_ = true;
  flows_.PortStarted();
  basis_ = Read();
  // A forwarder takes what is not addressed to it, a generator's answers included.
  if (const int error = rte_eth_promiscuous_enable(capabilities_.port);
      error != 0 && error != -ENOTSUP) {
    return failed(error, "rte_eth_promiscuous_enable");
  }
  // No fault of the port: it may come up later.
  if (capabilities_.ifindex != 0 && !IsInterfaceUp(capabilities_.ifindex).value_or(true)) {
    Log(Severity::kWarning, Where(),
        ": the interface is down, nothing comes or goes; 'ip link set dev ",
        capabilities_.interface, " up' changes that");
  }
  return absl::OkStatus();
}

absl::Status Port::Stop() {
  if (!started_) return absl::OkStatus();
  flows_.PortStops();
  if (!was_promiscuous_) rte_eth_promiscuous_disable(capabilities_.port);
  const PortReport counts = Counts();
  started_ = false;
  gone_ = {counts.rx_packets, counts.rx_bytes,  counts.tx_packets, counts.tx_bytes,
           counts.rx_missed,  counts.rx_errors, counts.tx_errors,  counts.rx_nombuf};
  const int error = rte_eth_dev_stop(capabilities_.port);
  basis_ = Read();
  if (error != 0) return ErrnoStatus(error, absl::StrCat("rte_eth_dev_stop, ", Where()));
  return absl::OkStatus();
}

absl::Status Port::Close() {
  if (closed_) return absl::OkStatus();
  flows_.PortCloses();
  absl::Status status = Stop();
  closed_ = true;
  sockets_.clear();
  if (const int error = rte_eth_dev_close(capabilities_.port); error != 0) {
    status.Update(ErrnoStatus(error, absl::StrCat("rte_eth_dev_close, ", Where())));
  }
  if (record_.ifindex != 0) {
    std::vector<std::string> lines;
    const bool clean = UndoInterface(record_, lines);
    for (const std::string& line : lines) Log(Severity::kInfo, line);
    if (clean && run_directory_ != nullptr) {
      status.Update(run_directory_->ForgetInterface(record_.ifindex));
    }
  }
  return status;
}

Port::Basis Port::Read() const {
  rte_eth_stats stats{};
  if (!counts_ || rte_eth_stats_get(capabilities_.port, &stats) != 0) return {};
  for (const HiddenSocket& socket : sockets_) {
    stats.imissed += XskRxRingFull(socket.fd).value_or(0);
  }
  return {stats.ipackets, stats.ibytes,  stats.opackets, stats.obytes,
          stats.imissed,  stats.ierrors, stats.oerrors,  stats.rx_nombuf};
}

PortReport Port::Counts() const {
  // A driver that did not make its queues may trip over those that it lacks. One that is set up
  // anew while it is stopped may sum over other queues than it did: nothing is counted there.
  const bool silent = closed_ || half_set_up_;
  const Basis now = silent || !started_ ? basis_ : Read();
  PortReport report;
  report.port = capabilities_.port;
  report.name = capabilities_.name;
  report.driver = capabilities_.driver;
  report.counted = counts_;
  report.rx_packets = gone_.rx_packets + now.rx_packets - basis_.rx_packets;
  report.rx_bytes = gone_.rx_bytes + now.rx_bytes - basis_.rx_bytes;
  report.tx_packets = gone_.tx_packets + now.tx_packets - basis_.tx_packets;
  report.tx_bytes = gone_.tx_bytes + now.tx_bytes - basis_.tx_bytes;
  report.rx_missed = gone_.rx_missed + now.rx_missed - basis_.rx_missed;
  report.rx_errors = gone_.rx_errors + now.rx_errors - basis_.rx_errors;
  report.tx_errors = gone_.tx_errors + now.tx_errors - basis_.tx_errors;
  report.rx_nombuf = gone_.rx_nombuf + now.rx_nombuf - basis_.rx_nombuf;
  if (silent) return report;
  const int count = rte_eth_xstats_get_names(capabilities_.port, nullptr, 0);
  if (count <= 0) return report;
  std::vector<rte_eth_xstat_name> names(static_cast<size_t>(count));
  std::vector<rte_eth_xstat> values(static_cast<size_t>(count));
  const auto size = static_cast<unsigned>(count);
  if (rte_eth_xstats_get_names(capabilities_.port, names.data(), size) != count ||
      rte_eth_xstats_get(capabilities_.port, values.data(), size) != count) {
    return report;  // They changed in between; the next snapshot has them.
  }
  for (const rte_eth_xstat& value : values) report.xstats[names[value.id].name] = value.value;
  return report;
}

PortState Port::State() const {
  PortState state;
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(capabilities_.port, &link) == 0) {
    state.link_up = link.link_status == RTE_ETH_LINK_UP;
    if (link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN) state.link_mbps = link.link_speed;
  }
  if (rte_eth_dev_get_mtu(capabilities_.port, &state.mtu_bytes) != 0) state.mtu_bytes = 0;
  state.promiscuous = rte_eth_promiscuous_get(capabilities_.port) == 1;
  std::array<char, 128> firmware{};
  if (rte_eth_dev_fw_version_get(capabilities_.port, firmware.data(), firmware.size()) == 0) {
    state.firmware = firmware.data();
  }
  return state;
}

absl::StatusOr<std::vector<SocketImage>> Port::Sockets() const {
  std::vector<SocketImage> images;
  for (const HiddenSocket& socket : sockets_) {
    PENSTOCK_ASSIGN_OR_RETURN(const XskRings rings,
                              XskRings::OfSocket(socket.fd, socket.descriptors));
    PENSTOCK_ASSIGN_OR_RETURN(SocketImage image, rings.Read());
    images.push_back(std::move(image));
  }
  return images;
}

}  // namespace penstock
