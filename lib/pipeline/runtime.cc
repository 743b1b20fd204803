// SPDX-License-Identifier: BSD-3-Clause
#include "lib/pipeline/runtime.h"

#include <net/if.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_version.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/log.h"
#include "lib/base/status.h"
#include "lib/pipeline/tx_queue_reports.h"
#include "lib/port/xsk_holdings.h"

namespace penstock {
namespace {

int RunProgram(void* program) {
  static_cast<LcoreProgram*>(program)->Run();
  return 0;
}

// Removed ports, told by EAL's interrupt thread. One table for the process, as ports are.
std::atomic<bool> lost_ports[RTE_MAX_ETHPORTS];

int NoteLostPort(uint16_t port, rte_eth_event_type, void*, void*) {
  lost_ports[port].store(true, std::memory_order_relaxed);
  return 0;
}

}  // namespace

void Runtime::FreeQuiescence::operator()(rte_rcu_qsbr* variable) const { std::free(variable); }

Runtime::Runtime(const Settings& settings)
    : settings_(settings),
      clock_(rte_get_tsc_hz()),
      budgets_(settings_.budget_drivers),
      past_(settings.modes) {}

absl::StatusOr<std::unique_ptr<Runtime>> Runtime::Create(const Settings& settings) {
  std::unique_ptr<Runtime> runtime(new Runtime(settings));
  unsigned lcore = 0;
  RTE_LCORE_FOREACH_WORKER(lcore) {
    runtime->lcores_.push_back({lcore, static_cast<int>(rte_lcore_to_socket_id(lcore))});
  }
  const size_t bytes = rte_rcu_qsbr_get_memsize(RTE_MAX_LCORE);
  runtime->quiescence_.reset(static_cast<rte_rcu_qsbr*>(
      std::aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_CACHE_LINE_ROUNDUP(bytes))));
  if (runtime->quiescence_ == nullptr ||
      rte_rcu_qsbr_init(runtime->quiescence_.get(), RTE_MAX_LCORE) != 0) {
    return absl::ResourceExhaustedError("no memory for the quiescent-state variable");
  }
  for (const PlannerLcore& each : runtime->lcores_) {
    if (rte_rcu_qsbr_thread_register(runtime->quiescence_.get(), each.lcore) != 0) {
      return ErrnoStatus(rte_errno, absl::StrCat("rte_rcu_qsbr_thread_register(", each.lcore, ")"));
    }
  }
  uint16_t port = 0;
  RTE_ETH_FOREACH_DEV(port) {
    lost_ports[port].store(false, std::memory_order_relaxed);
    PENSTOCK_ASSIGN_OR_RETURN(Port opened, Port::Open(port, settings.run_directory));
    runtime->ports_.push_back(std::move(opened));
  }
  rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, NoteLostPort, nullptr);
  return runtime;
}

Runtime::~Runtime() {
  if (!closed_) {
    if (const auto report = Close(); !report.ok()) {
      Log(Severity::kError, "closing: ", report.status().message());
    }
  }
  if (running_) {
    // An lcore did not stop and uses all of this: lost is better than freed under it.
    static_cast<void>(generation_.release());
    static_cast<void>(quiescence_.release());
    new std::vector<Mempool>(std::move(mempools_));
  }
  rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, NoteLostPort, nullptr);
}

absl::StatusOr<const Mode*> Runtime::FindMode(absl::string_view name) const {
  for (const Mode& mode : settings_.modes) {
    if (mode.name == name) return &mode;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--forward-mode=", name,
      ": accepted: ", absl::StrJoin(settings_.modes, ", ", [](std::string* out, const Mode& mode) {
        absl::StrAppend(out, mode.name);
      })));
}

// ---- Apply ----

absl::StatusOr<Applied> Runtime::Apply(const Configuration& desired) {
  if (closed_) return absl::FailedPreconditionError("the runtime is closed");
  PENSTOCK_RETURN_IF_ERROR(Validate(desired));
  Applied applied;
  applied.change = Difference(configuration_, desired);
  // At the first start, and after one that failed half way, everything is to be done.
  const bool intact =
      generation_ != nullptr && ports_as_wanted_ && configuration_.forwarding == running_;
  if (generation_ == nullptr || (!intact && applied.change.kind != ChangeKind::kProcess)) {
    applied.change.kind = ChangeKind::kPorts;
  }
  switch (applied.change.kind) {
    case ChangeKind::kNone:
      return applied;
    case ChangeKind::kProcess:
      return absl::FailedPreconditionError(absl::StrCat(
          "fixed when penstock starts: --", absl::StrJoin(applied.change.options, ", --"),
          "; stop it and start it with the new value"));
    case ChangeKind::kSettings:
      if (configuration_.tx_budget != desired.tx_budget) {
        // The same plan, but for what it refuses and what it notes.
        PENSTOCK_ASSIGN_OR_RETURN(const Plan plan, MakePlan(PortsForPlanner(), lcores_,
                                                            generation_->mode->shape, desired));
        const absl::Status set = SetTxBudgets(generation_->plan, desired);
        if (!set.ok()) {
          // All or nothing. What the one that refused says to that is no news.
          SetTxBudgets(generation_->plan, configuration_).IgnoreError();
          return set;
        }
        generation_->plan.notes = plan.notes;
      }
      configuration_ = desired;
      SetLogLevel(desired.log_level);
      return applied;
    case ChangeKind::kPipeline:
    case ChangeKind::kPorts:
      break;
  }

  const auto sending_first = [](const Generation::Worker& worker) {
    return worker.program->SendingFirst();
  };
  if (running_ && desired.forwarding && std::ranges::any_of(generation_->workers, sending_first)) {
    return absl::FailedPreconditionError(
        "the bursts of tx_first are still being sent; wait for their end, or stop first");
  }
  // Everything that may be refused comes before anything that runs is touched.
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Generation> next, Build(desired));
  for (size_t i = 0; i < next->setups.size(); ++i) {
    if (SetUpAs(next->plan.ports[i], next->setups[i])) continue;
    PENSTOCK_RETURN_IF_ERROR(PortOf(next->plan.ports[i].port).MaySetUp(next->setups[i]));
  }

  const bool was_running = running_;
  const uint64_t paused_since_tsc = clock_.NowTsc();
  PENSTOCK_RETURN_IF_ERROR(Pause());
  const bool learns = std::ranges::any_of(
      ports_, [](const Port& port) { return TxReapOf(port.capabilities()) == TxReap::kUnknown; });
  PENSTOCK_RETURN_IF_ERROR(SetUpPorts(*next));
  if (learns) {
    // What a port can do beyond its dev_info shows only now.
    PENSTOCK_ASSIGN_OR_RETURN(next, Build(desired));
    PENSTOCK_RETURN_IF_ERROR(SetUpPorts(*next));
  }
  PENSTOCK_RETURN_IF_ERROR(StartPorts(desired.stopped_ports));
  PENSTOCK_RETURN_IF_ERROR(SetTxBudgets(next->plan, desired));
  generation_ = std::move(next);
  configuration_ = desired;
  SetLogLevel(desired.log_level);
  if (desired.forwarding && !was_running) configuration_.tx_first = 0;
  if (desired.forwarding) PENSTOCK_RETURN_IF_ERROR(Launch());
  if (was_running && desired.forwarding) {
    applied.paused_ns = TscToNs(clock_.NowTsc() - paused_since_tsc, clock_.Hz());
  }
  return applied;
}

absl::StatusOr<std::unique_ptr<Runtime::Generation>> Runtime::Build(const Configuration& desired) {
  auto generation = std::make_unique<Generation>();
  PENSTOCK_ASSIGN_OR_RETURN(generation->mode, FindMode(desired.forward_mode));
  const ModeShape& shape = generation->mode->shape;
  if (desired.tx_first > 0 && shape.sends == Destination::kNone) {
    return absl::FailedPreconditionError(
        absl::StrCat("--tx-first: mode ", desired.forward_mode,
                     " sends nothing; choose another, or leave it out"));
  }
  PENSTOCK_ASSIGN_OR_RETURN(generation->plan, MakePlan(PortsForPlanner(), lcores_, shape, desired));
  // Pools that no port fills from yet, of an attempt that failed, may have been of another size.
  if (std::ranges::none_of(ports_, &Port::set_up)) mempools_.clear();
  PENSTOCK_RETURN_IF_ERROR(mempools_.empty() ? CreateMempools(generation->plan, desired)
                                             : FitsMempools(generation->plan));
  generation->setups = SetupsOf(generation->plan, desired);
  PENSTOCK_RETURN_IF_ERROR(BuildWorkers(desired, *generation));
  return generation;
}

std::vector<PlannerPort> Runtime::PortsForPlanner() const {
  std::vector<PlannerPort> ports;
  for (const Port& each : ports_) {
    const PortCapabilities& port = each.capabilities();
    PlannerPort& result =
        ports.emplace_back(PlannerPort{.port = port.port,
                                       .name = port.name,
                                       .numa_node = port.numa_node,
                                       .rx = port.rx,
                                       .tx = port.tx,
                                       .fixed_queues = port.fixed_queues,
                                       .equal_queues = port.equal_queues,
                                       .equal_descriptors = port.equal_descriptors,
                                       .mt_lockfree = port.mt_lockfree,
                                       .driver_mbufs = port.driver_mbufs,
                                       .reap = TxReapOf(port),
                                       .tx_pinned = port.tx_pinned,
                                       .completion_devarg = port.completion_devarg,
                                       .reaps_by_threshold = port.reaps_by_threshold,
                                       .tx_budget = budgets_.Has(port)});
    const auto now = ports_now_.find(port.port);
    if (port.sets_up_once && now != ports_now_.end()) result.fixed = now->second.plan;
  }
  return ports;
}

std::vector<PortSetup> Runtime::SetupsOf(const Plan& plan, const Configuration& desired) const {
  std::vector<PortSetup> setups;
  for (const PortPlan& port : plan.ports) {
    setups.push_back({.rx_queues = port.rx_queues,
                      .tx_queues = port.tx_queues,
                      .rx_descriptors = port.rx_descriptors,
                      .tx_descriptors = port.tx_descriptors,
                      .mempool = mempools_[port.mempool].get(),
                      .mt_lockfree = port.mt_lockfree,
                      .fast_free = plan.mempools.size() == 1,
                      .rss = desired.rss,
                      .max_packet_bytes = desired.max_packet_bytes,
                      .rx_offloads = desired.rx_offloads,
                      .tx_offloads = desired.tx_offloads,
                      .tx_free = port.tx_free});
  }
  return setups;
}

// Whether the port is set up so already.
bool Runtime::SetUpAs(const PortPlan& plan, const PortSetup& setup) const {
  const auto now = ports_now_.find(plan.port);
  return now != ports_now_.end() && now->second.setup == setup;
}

absl::Status Runtime::BuildWorkers(const Configuration& desired, Generation& generation) {
  const Plan& plan = generation.plan;
  generation.locks = std::vector<TxLock>(plan.tx_queues.size());
  const auto offloads_of = [&](uint16_t port) {
    const auto index = std::ranges::find(plan.ports, port, &PortPlan::port) - plan.ports.begin();
    return EffectiveOffloads(PortOf(port).capabilities(),
                             generation.setups[static_cast<size_t>(index)]);
  };
  for (size_t index = 0; index < plan.lcores.size(); ++index) {
    const LcorePlan& lcore = plan.lcores[index];
    if (lcore.Idle()) continue;
    StageContext context{.configuration = desired,
                         .lcore = lcore.lcore,
                         .rx = {},
                         .tx = {},
                         .mempool = mempools_[lcore.mempool].get()};
    LcoreResources resources{.tx = {},
                             .burst = desired.burst,
                             .tx_retries = desired.tx_retries,
                             .quiescence = quiescence_.get()};
    for (const LcorePlan::Rx& rx : lcore.rx) {
      context.rx.push_back({rx.port, rx.queue, rx.peer, offloads_of(rx.port).rx});
    }
    for (const LcorePlan::Tx& tx : lcore.tx) {
      const PortCapabilities& port = PortOf(tx.port).capabilities();
      context.tx.push_back({tx.port, tx.queue, port.mac, tx.source, offloads_of(tx.port).tx});
      TxQueue& queue = resources.tx.emplace_back();
      queue.port = tx.port;
      queue.queue = tx.queue;
      queue.single_segment = !port.multi_segments;
      const TxQueuePlan& planned = plan.tx_queues[tx.shared_queue];
      if (planned.sharing == Sharing::kSpinlock) queue.lock = &generation.locks[tx.shared_queue];
      queue.sends = budgets_.SendsOf(port, tx.queue, lcore.lcore);
      queue.burst = BurstFor(queue);
      // No port has both MT_LOCKFREE and sends that only we can count.
      if (planned.sharing == Sharing::kMtLockfree && planned.reaper) {
        queue.lock = &generation.locks[tx.shared_queue];
        queue.burst = &BurstPublished;
      }
    }
    for (const LcorePlan::Reap& reap : lcore.reaps) {
      resources.reaped.push_back(ReapedBy(generation, reap, desired));
    }
    if (desired.tx_first > 0 && desired.forwarding && !running_) {
      StageContext first = context;
      for (size_t i = 0; i < lcore.tx.size(); ++i) {
        // One of those who share a queue.
        first.tx[i].source = plan.tx_queues[lcore.tx[i].shared_queue].users[0] == lcore.lcore;
      }
      PENSTOCK_ASSIGN_OR_RETURN(resources.first, FirstBursts::Create(first, desired.tx_first));
    }
    resources.mail = MailOf(plan, lcore);
    PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<LcoreProgram> program,
                              generation.mode->create(context, std::move(resources)));
    generation.workers.push_back({index, std::move(program)});
  }
  return absl::OkStatus();
}

// Of every mempool that the lcore allocates from: for what it receives, and for what it makes.
std::vector<HomeMail> Runtime::MailOf(const Plan& plan, const LcorePlan& lcore) const {
  std::vector<HomeMail> mails;
  if (settings_.home_mail == nullptr) return mails;
  std::set<uint16_t> pools = {lcore.mempool};
  for (const LcorePlan::Rx& rx : lcore.rx) {
    pools.insert(std::ranges::find(plan.ports, rx.port, &PortPlan::port)->mempool);
  }
  for (const uint16_t pool : pools) {
    const auto mail = settings_.home_mail(mempools_[pool].get(), lcore.lcore);
    if (mail.has_value()) mails.push_back(*mail);
  }
  return mails;
}

LcoreResources::Reaped Runtime::ReapedBy(Generation& generation, const LcorePlan::Reap& reap,
                                         const Configuration& desired) const {
  const PortPlan& port = *std::ranges::find(generation.plan.ports, reap.port, &PortPlan::port);
  const Sharing sharing = generation.plan.tx_queues[reap.shared_queue].sharing;
  TxLock& shared = generation.locks[reap.shared_queue];
  const TxReap way = TxReapOf(PortOf(reap.port).capabilities());
  return {.queue = TxReaper(reap.port, reap.queue, port.tx_descriptors, way,
                            sharing == Sharing::kSpinlock ? &shared.lock : nullptr),
          .pace = {.limit = port.tx_descriptors,
                   .threshold = desired.completion_threshold,
                   .busy_age_ns = desired.completion_age_ns[0],
                   .idle_age_ns = desired.completion_age_ns[1],
                   .exact = way != TxReap::kCleanup,
                   .persistent = way == TxReap::kCleanupTold},
          .slot = reap.slot,
          .sent = sharing == Sharing::kExclusive ? nullptr : &shared.sent};
}

absl::Status Runtime::CreateMempools(const Plan& plan, const Configuration& desired) {
  // A packet leaves by any port, whatever pool it came from.
  const bool dma =
      std::ranges::any_of(ports_, [](const Port& port) { return port.capabilities().dma; });
  PENSTOCK_ASSIGN_OR_RETURN(const std::string ops, OpsFor(desired.mempool));
  std::vector<Mempool> made;
  for (size_t i = 0; i < plan.mempools.size(); ++i) {
    const bool in_sockets = std::ranges::any_of(plan.ports, [&](const PortPlan& port) {
      return port.mempool == i && PortOf(port.port).capabilities().hidden_sockets;
    });
    PENSTOCK_ASSIGN_OR_RETURN(Mempool pool,
                              Mempool::Create({.name = absl::StrCat("penstock_", i),
                                               .mbufs = plan.mempools[i].mbufs,
                                               .cache = desired.mbcache,
                                               .data_room_bytes = desired.mbuf_size,
                                               .numa_node = plan.mempools[i].numa_node,
                                               .without_gaps = in_sockets || !dma,
                                               .dma = dma,
                                               .ops = ops}));
    made.push_back(std::move(pool));
  }
  mempools_ = std::move(made);
  return absl::OkStatus();
}

absl::Status Runtime::FitsMempools(const Plan& plan) const {
  for (size_t i = 0; i < plan.mempools.size(); ++i) {
    const uint32_t wanted = plan.mempools[i].mbufs;
    const uint32_t there = i < mempools_.size() ? mempools_[i].size() : 0;
    if (wanted <= there) continue;
    return absl::FailedPreconditionError(absl::StrFormat(
        "the plan wants %d mbufs in mempool %d, which was made with %d; start penstock with "
        "--total-num-mbufs=%d",
        wanted, i, there, wanted));
  }
  return absl::OkStatus();
}

// Touches only those ports that are not yet as they are to be.
absl::Status Runtime::SetUpPorts(const Generation& generation) {
  ports_as_wanted_ = false;
  for (size_t i = 0; i < generation.setups.size(); ++i) {
    const PortPlan& plan = generation.plan.ports[i];
    const PortSetup& setup = generation.setups[i];
    if (!SetUpAs(plan, setup)) {
      ports_now_.erase(plan.port);
      PENSTOCK_RETURN_IF_ERROR(PortOf(plan.port).Stop());
      PENSTOCK_RETURN_IF_ERROR(PortOf(plan.port).SetUp(setup));
    }
    ports_now_[plan.port] = {plan, setup};
  }
  return absl::OkStatus();
}

absl::Status Runtime::StartPorts(const std::set<uint16_t>& stopped) {
  for (Port& port : ports_) {
    const bool stop = stopped.contains(port.capabilities().port);
    PENSTOCK_RETURN_IF_ERROR(stop ? port.Stop() : port.Start());
  }
  ports_as_wanted_ = true;
  return absl::OkStatus();
}

absl::Status Runtime::SetTxBudgets(const Plan& plan, const Configuration& desired) {
  for (const PortPlan& port : plan.ports) {
    if (!budgets_.Has(PortOf(port.port).capabilities())) continue;
    PENSTOCK_RETURN_IF_ERROR(budgets_.Set(PortOf(port.port), port.tx_queues, port.tx_descriptors,
                                          desired.tx_budget.For(port.port)));
  }
  return absl::OkStatus();
}

absl::Status Runtime::Launch() {
  std::vector<Generation::Worker>& workers = generation_->workers;
  since_tsc_ = clock_.NowTsc();
  for (size_t i = 0; i < workers.size(); ++i) {
    const Generation::Worker& worker = workers[i];
    const unsigned lcore = generation_->plan.lcores[worker.plan_index].lcore;
    worker.program->page().Start();
    const int error = rte_eal_remote_launch(RunProgram, worker.program.get(), lcore);
    if (error != 0) {
      // Those before it run and are stopped; it and those after it never ran and are not waited
      // for.
      workers.resize(i);
      running_ = true;
      absl::Status status =
          ErrnoStatus(error, absl::StrCat("rte_eal_remote_launch(lcore ", lcore, ")"));
      status.Update(Pause());
      return status;
    }
  }
  running_ = true;
  watchdog_.emplace(clock_, generation_->workers.size(), kStuckNs);
  return absl::OkStatus();
}

absl::Status Runtime::Pause() {
  if (!running_) return absl::OkStatus();
  for (const Generation::Worker& worker : generation_->workers) worker.program->Stop();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kStuckNs);
  for (const Generation::Worker& worker : generation_->workers) {
    const unsigned lcore = generation_->plan.lcores[worker.plan_index].lcore;
    // Not rte_eal_wait_lcore at once: it waits for ever, and on the processor that the lcore needs.
    while (rte_eal_get_lcore_state(lcore) == RUNNING) {
      if (std::chrono::steady_clock::now() >= deadline) {
        return absl::DeadlineExceededError(
            absl::StrFormat("lcore %d did not stop within %d s", lcore, kStuckNs / kNsPerSecond));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    rte_eal_wait_lcore(lcore);
  }
  running_ = false;
  forwarding_tsc_ += clock_.NowTsc() - since_tsc_;
  CountWorkers(*generation_, past_);
  return absl::OkStatus();
}

// ---- what happened ----

void Runtime::CountWorkers(const Generation& generation, Tally& tally) const {
  for (const Generation::Worker& worker : generation.workers) {
    tally.Add(*generation.mode, generation.plan.lcores[worker.plan_index], worker.program->layout(),
              worker.program->page().Read());
  }
}

Report Runtime::Snapshot() const {
  Report report;
  report.version = settings_.version;
  report.dpdk = rte_version();
  utsname kernel{};
  if (uname(&kernel) == 0) report.kernel = kernel.release;
  report.mode = configuration_.forward_mode;
  report.at_rest = !running_;
  const uint64_t forwarding_tsc = forwarding_tsc_ + (running_ ? clock_.NowTsc() - since_tsc_ : 0);
  report.duration_s = static_cast<double>(TscToNs(forwarding_tsc, clock_.Hz())) / kNsPerSecond;
  if (generation_ != nullptr) report.plan = ToJson(generation_->plan);
  if (closed_) {
    report.ports = closed_ports_;
    report.mempools = settled_;
  } else {
    for (const Port& port : ports_) report.ports.push_back(port.Counts());
    for (const Mempool& pool : mempools_) {
      report.mempools.push_back({pool.name(), pool.ops(), pool.size(), {}, {}});
    }
  }
  if (generation_ != nullptr) {
    report.tx_queues = TxQueueReports(generation_->plan, report.ports, budgets_);
  }
  Tally tally = past_;
  if (running_) CountWorkers(*generation_, tally);
  tally.Fill(report, clock_.NowTsc(), clock_.Hz());
  for (TxQueueReport& queue : report.tx_queues) {
    const uint64_t pinned = closed_ ? 0 : PortOf(queue.port).capabilities().tx_pinned;
    if (pinned != 0 && queue.in_flight) queue.pinned = std::min(*queue.in_flight, pinned);
  }
  Balance(report);
  return report;
}

// ---- the end ----

absl::StatusOr<Report> Runtime::Close() {
  if (closed_) return Snapshot();
  // Lcores that still run use the ports and pools: nothing may be taken away from them.
  PENSTOCK_RETURN_IF_ERROR(Pause());
  absl::Status status;
  budgets_.Freeze();
  // Nobody wants them back.
  for (Port& port : ports_) port.flows().PortCloses();
  for (Port& port : ports_) status.Update(port.Stop());
  for (const Port& port : ports_) closed_ports_.push_back(port.Counts());
  status.Update(SettleMempools());
  closed_ = true;
  // Freed here, not in the destructor: a second Runtime may follow in this process.
  ports_.clear();
  mempools_.clear();
  if (!status.ok()) return status;
  return Snapshot();
}

// What the pools miss once the ports are closed, and how much of that drivers keep.
absl::Status Runtime::SettleMempools() {
  absl::Status status;
  std::vector<std::vector<SocketImage>> sockets(mempools_.size());
  for (const auto& [port, now] : ports_now_) {
    auto images = PortOf(port).Sockets();
    status.Update(images.status());
    if (!images.ok()) continue;
    for (SocketImage& image : *images) sockets[now.plan.mempool].push_back(std::move(image));
  }
  for (Port& port : ports_) status.Update(port.Close());
  for (size_t i = 0; i < mempools_.size(); ++i) {
    const Mempool& pool = mempools_[i];
    MempoolReport& report =
        settled_.emplace_back(MempoolReport{pool.name(), pool.ops(), pool.size(), {}, {}});
    const auto holdings = HoldingsOf(sockets[i]);
    status.Update(holdings.status());
    const uint64_t held = holdings.ok() ? holdings->Count() : 0;
    const uint64_t out = pool.InUse();
    report.held_by_driver = std::min(held, out);
    report.in_use_at_exit = out - *report.held_by_driver;
  }
  return status;
}

// ---- commands and watching ----

absl::Status Runtime::RunStageCommand(const ModeCommand& command,
                                      std::span<const std::string> arguments, std::string& output) {
  std::vector<void*> stages;
  for (const Generation::Worker& worker : generation_->workers) {
    stages.push_back(worker.program->StageAt(command.stage));
  }
  return command.run(stages, arguments, output);
}

std::vector<unsigned> Runtime::StuckLcores() {
  std::vector<unsigned> stuck;
  if (!running_) return stuck;
  std::vector<uint64_t> heartbeats;
  for (const Generation::Worker& worker : generation_->workers) {
    heartbeats.push_back(worker.program->Heartbeat());
  }
  for (const StuckLcore& each : watchdog_->Observe(heartbeats)) {
    stuck.push_back(generation_->plan.lcores[generation_->workers[each.index].plan_index].lcore);
  }
  return stuck;
}

std::optional<uint16_t> Runtime::LostPort() const {
  for (const Port& port : ports_) {
    const PortCapabilities& known = port.capabilities();
    // Virtual devices on a kernel interface tell nobody when that is gone.
    std::array<char, IF_NAMESIZE> name{};
    const bool interface_gone =
        known.ifindex != 0 && if_indextoname(known.ifindex, name.data()) == nullptr;
    if (interface_gone || lost_ports[known.port].load(std::memory_order_relaxed)) return known.port;
  }
  return std::nullopt;
}

FlowTable* Runtime::FlowsOf(uint16_t port) {
  const auto found = std::ranges::find_if(
      ports_, [&](const Port& each) { return each.capabilities().port == port; });
  return found == ports_.end() ? nullptr : &found->flows();
}

Port& Runtime::PortOf(uint16_t port) {
  return *std::ranges::find_if(ports_,
                               [&](const Port& each) { return each.capabilities().port == port; });
}

}  // namespace penstock
