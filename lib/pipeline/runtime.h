// SPDX-License-Identifier: BSD-3-Clause
//
// Runtime: ports, plan and lcores of one dataplane, brought to what a Configuration says.
//
//   // EAL is up.
//   PENSTOCK_ASSIGN_OR_RETURN(auto runtime, Runtime::Create({.modes = kModes}));
//   PENSTOCK_RETURN_IF_ERROR(runtime->Apply(configuration).status());
//   // Now it forwards.
//   Report now = runtime->Snapshot();
//   PENSTOCK_ASSIGN_OR_RETURN(Report last, runtime->Close());
//
// Apply is the one way in: the first start, `start` and `stop` at the prompt, another mode or other
// queues are all "make it so". What it needs is checked, planned and built before anything that
// runs is touched; only then lcores pause, and the answer says for how long. All methods are for
// one control thread; Snapshot does not disturb the lcores.

#ifndef PENSTOCK_LIB_PIPELINE_RUNTIME_H_
#define PENSTOCK_LIB_PIPELINE_RUNTIME_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/base/clock.h"
#include "lib/base/watchdog.h"
#include "lib/config/configuration.h"
#include "lib/pipeline/mode.h"
#include "lib/pipeline/planner.h"
#include "lib/pipeline/tally.h"
#include "lib/port/mempool.h"
#include "lib/port/port.h"
#include "lib/port/run_directory.h"
#include "lib/port/tx_budgets.h"
#include "lib/ring/home_mail.h"
#include "lib/stats/report.h"

namespace penstock {

// What Apply did.
struct Applied {
  Change change;           // From what was; kPorts at the first start and after one that failed.
  uint64_t paused_ns = 0;  // How long no lcore moved packets. 0 when none was running before.
};

class Runtime {
 public:
  struct Settings {
    std::span<const Mode> modes;            // Outlives the runtime.
    RunDirectory* run_directory = nullptr;  // Outlives the runtime; null: nothing is recorded.
    std::string version;                    // For the report.
    // Of the drivers that choose their TX budgets themselves; outlive the runtime.
    std::span<const TxBudgetDriver> budget_drivers = {};
    // Where an lcore looks once per iteration for what others freed that is at home with it; none
    // for a mempool that has no homes. Null: no mempool has.
    std::optional<HomeMail> (*home_mail)(rte_mempool*, unsigned lcore) = nullptr;
  };

  // Takes every ethdev port that EAL has and every worker lcore.
  static absl::StatusOr<std::unique_ptr<Runtime>> Create(const Settings& settings);

  // Closes, if Close was not called. What an lcore that does not stop still uses is not freed.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Brings the dataplane to `desired`. On an error before the lcores pause, everything goes on as
  // it was; after a later one (a port that does not start) nothing is forwarded, and Apply may be
  // called again. tx_first is for one beginning: where forwarding begins with it, it is 0 again
  // afterwards; else it is kept for the next. InvalidArgument: the configuration is wrong in
  // itself. FailedPrecondition: this machine, these ports or this process cannot do it.
  // DeadlineExceeded: an lcore did not stop.
  absl::StatusOr<Applied> Apply(const Configuration& desired);

  // What happened to every packet until now.
  Report Snapshot() const;

  // Stops the lcores, stops and closes the ports, and gives the final report with what the mempools
  // still miss. Afterwards only Snapshot may be called.
  absl::StatusOr<Report> Close();

  // ---- For commands. plan(), mode() and RunStageCommand() only after a first Apply. ----
  const Configuration& configuration() const { return configuration_; }
  const Plan& plan() const { return generation_->plan; }
  const Mode& mode() const { return *generation_->mode; }
  std::span<const Mode> modes() const { return settings_.modes; }
  std::span<const Port> ports() const { return ports_; }
  std::span<const Mempool> mempools() const { return mempools_; }
  // The flow rules of a port; null when there is no such port.
  FlowTable* FlowsOf(uint16_t port);
  bool forwarding() const { return running_; }

  // Runs a command of the present mode.
  absl::Status RunStageCommand(const ModeCommand& command, std::span<const std::string> arguments,
                               std::string& output);

  // A variable that every lcore reports its quiescent states to, by lcore id: what was unpublished
  // before rte_rcu_qsbr_start may be freed once rte_rcu_qsbr_check says so.
  rte_rcu_qsbr* quiescence() const { return quiescence_.get(); }

  // Lets the TX budgets follow what is sent. Call some times per second.
  void TuneTxBudgets() { budgets_.Tune(); }

  // Lcores whose loop has not turned for kStuckNs. Call some times per second.
  std::vector<unsigned> StuckLcores();

  // A port that was removed while in use, if one was.
  std::optional<uint16_t> LostPort() const;

  static constexpr uint64_t kStuckNs = 5'000'000'000;

 private:
  // Everything that a plan brings and the next plan replaces.
  struct Generation {
    const Mode* mode = nullptr;
    Plan plan;
    std::vector<PortSetup> setups;  // As plan.ports.
    std::vector<TxLock> locks;      // One per TX queue: lock and count of those that are shared.
    // Of the lcores that have work, with their place in the plan.
    struct Worker {
      size_t plan_index;
      std::unique_ptr<LcoreProgram> program;
    };
    std::vector<Worker> workers;
  };

  struct FreeQuiescence {
    void operator()(rte_rcu_qsbr* variable) const;
  };

  explicit Runtime(const Settings& settings);

  absl::StatusOr<const Mode*> FindMode(absl::string_view name) const;
  absl::StatusOr<std::unique_ptr<Generation>> Build(const Configuration& desired);
  std::vector<PlannerPort> PortsForPlanner() const;
  std::vector<PortSetup> SetupsOf(const Plan& plan, const Configuration& desired) const;
  bool SetUpAs(const PortPlan& plan, const PortSetup& setup) const;
  absl::Status BuildWorkers(const Configuration& desired, Generation& generation);
  std::vector<HomeMail> MailOf(const Plan& plan, const LcorePlan& lcore) const;
  LcoreResources::Reaped ReapedBy(Generation& generation, const LcorePlan::Reap& reap,
                                  const Configuration& desired) const;
  absl::Status CreateMempools(const Plan& plan, const Configuration& desired);
  absl::Status FitsMempools(const Plan& plan) const;
  absl::Status SetUpPorts(const Generation& generation);
  absl::Status StartPorts(const std::set<uint16_t>& stopped);  // All but those.
  absl::Status SetTxBudgets(const Plan& plan, const Configuration& desired);
  absl::Status Launch();
  absl::Status Pause();
  void CountWorkers(const Generation& generation, Tally& tally) const;
  absl::Status SettleMempools();
  Port& PortOf(uint16_t port);
  const Port& PortOf(uint16_t port) const { return const_cast<Runtime*>(this)->PortOf(port); }

  const Settings settings_;
  const TscClock clock_;
  std::vector<PlannerLcore> lcores_;
  std::unique_ptr<rte_rcu_qsbr, FreeQuiescence> quiescence_;
  std::vector<Mempool> mempools_;  // Outlive the ports.
  std::vector<Port> ports_;
  TxBudgets budgets_;
  Configuration configuration_;
  std::unique_ptr<Generation> generation_;
  // As each port is now; one is missing whose set-up failed.
  struct PortNow {
    PortPlan plan;
    PortSetup setup;
  };
  std::map<uint16_t, PortNow> ports_now_;
  bool ports_as_wanted_ = false;  // All are set up, and run or are stopped, as configuration_ says.
  bool running_ = false;
  bool closed_ = false;
  std::optional<Watchdog<TscClock>> watchdog_;

  Tally past_;  // What lcores of earlier generations counted, and this one's when it is stopped.
  uint64_t forwarding_tsc_ = 0;  // Time of earlier forwarding.
  uint64_t since_tsc_ = 0;       // When the present forwarding began.
  std::vector<MempoolReport> settled_;
  std::vector<PortReport> closed_ports_;
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_RUNTIME_H_
