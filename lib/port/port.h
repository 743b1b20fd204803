// SPDX-License-Identifier: BSD-3-Clause
//
// Port: one ethdev port from configuration to close. Control thread only; lcores use the port's
// queues directly through ethdev.
//
//   PENSTOCK_ASSIGN_OR_RETURN(Port port, Port::Open(0, run_directory));
//   PENSTOCK_RETURN_IF_ERROR(port.SetUp({.rx_queues = 1, …}));
//   PENSTOCK_RETURN_IF_ERROR(port.Start());
//   …
//   port.Stop();                      // lcores stopped before
//   port.Close();                     // mempools live longer
//
// Everything a port leaves outside the process (XDP program, promiscuous flag) is recorded in the
// RunDirectory, so that it can be undone if the process dies.

#ifndef PENSTOCK_LIB_PORT_PORT_H_
#define PENSTOCK_LIB_PORT_PORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/port/capabilities.h"
#include "lib/port/flow_table.h"
#include "lib/port/mempool.h"
#include "lib/port/port_setup.h"
#include "lib/port/run_directory.h"
#include "lib/port/xsk_holdings.h"
#include "lib/stats/report.h"

namespace penstock {

// What a person asks about a port beside its counts.
struct PortState {
  bool link_up = false;
  uint32_t link_mbps = 0;  // 0: the driver does not say.
  uint16_t mtu_bytes = 0;  // 0: the driver does not say.
  bool promiscuous = false;
  // What rte_eth_dev_fw_version_get tells: of a device its firmware, of net_xsk what it chose.
  // Often nothing.
  std::string firmware;
};

class Port {
 public:
  // Asks what the port can do. `run_directory` may be null: nothing is then recorded for a later
  // life.
  static absl::StatusOr<Port> Open(uint16_t port, RunDirectory* run_directory);

  // Configures the port and its queues. May be called again on a stopped port, unless the driver
  // sets up once.
  absl::Status SetUp(const PortSetup& setup);
  // FailedPrecondition when SetUp would not be possible any more, or the port lacks what it asks
  // for.
  absl::Status MaySetUp(const PortSetup& setup) const;
  absl::Status Start();
  absl::Status Stop();
  // Idempotent. Undoes what was left on the interface.
  absl::Status Close();

  const PortCapabilities& capabilities() const { return capabilities_; }
  bool set_up() const { return set_up_; }
  bool started() const { return started_; }

  // Its flow rules. What the driver does not keep over a stop, a new set-up or the close is
  // destroyed before it, and said.
  FlowTable& flows() { return flows_; }
  const FlowTable& flows() const { return flows_; }

  // The driver's counts since Open, whatever it did at a stop or a start in between. lcores_rx and
  // lcores_tx are for the caller to fill.
  PortReport Counts() const;

  // Does not wait for a link.
  PortState State() const;

  // The AF_XDP socket through which TX queue `queue` sends, of a driver that does not show it; -1
  // where there is none. From the set-up to the close.
  int HiddenSocketOf(uint16_t queue) const {
    return queue < sockets_.size() ? sockets_[queue].fd : -1;
  }

  // The rings of the port's hidden sockets; empty for every port that gives all mbufs back. Lcores
  // stopped, port not closed.
  absl::StatusOr<std::vector<SocketImage>> Sockets() const;

 private:
  // What one set-up began from, so that a driver that resets or keeps its counts does neither to
  // us.
  struct Basis {
    uint64_t rx_packets = 0, rx_bytes = 0, tx_packets = 0, tx_bytes = 0;
    uint64_t rx_missed = 0, rx_errors = 0, tx_errors = 0, rx_nombuf = 0;
  };
  struct HiddenSocket {
    int fd;
    uint16_t descriptors;
  };

  Port(PortCapabilities capabilities, RunDirectory* run_directory)
      : capabilities_(std::move(capabilities)),
        run_directory_(run_directory),
        flows_(capabilities_.port, capabilities_.name, capabilities_.driver) {}

  absl::Status Configure(const PortSetup& setup);
  absl::Status SetUpRxQueue(uint16_t queue, const PortSetup& setup, uint64_t offloads);
  absl::Status RecordMtu(uint16_t max_packet_bytes);
  absl::Status SetMtu(uint16_t max_packet_bytes);
  absl::Status Record();  // record_, into the run directory.
  std::string Where() const { return penstock::Where(capabilities_); }
  Basis Read() const;

  PortCapabilities capabilities_;
  RunDirectory* run_directory_;
  FlowTable flows_;
  bool counts_ = true;  // The driver has statistics to rely on.
  bool set_up_ = false;
  bool half_set_up_ = false;  // The last set-up failed.
  bool started_ = false;
  bool closed_ = false;
  bool was_promiscuous_ = false;
  // Attached before us, and left alone; of a driver that attaches one itself.
  std::vector<XdpProgram> found_programs_;
  InterfaceRecord record_;
  std::vector<HiddenSocket> sockets_;  // By queue.
  Basis gone_;                         // Counted before the last start.
  Basis basis_;                        // What the driver showed at the last start.
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_PORT_H_
