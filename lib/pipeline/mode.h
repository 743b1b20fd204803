// SPDX-License-Identifier: BSD-3-Clause
//
// Mode: one row of the application's table of modes: a name, the stages, and what the planner has
// to know. The table is the picture of what the program can do:
//
//   constexpr Mode kModes[] = {
//       MakeMode<Io>("io", "forward packets as they are", {.sends = Destination::kPeer}),
//       MakeMode<MacSwap>("macswap", "exchange the MAC addresses", {.sends = Destination::kPeer}),
//   };

#ifndef PENSTOCK_LIB_PIPELINE_MODE_H_
#define PENSTOCK_LIB_PIPELINE_MODE_H_

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/pipeline/lcore_loop.h"
#include "lib/pipeline/pipeline.h"
#include "lib/pipeline/stage.h"

namespace penstock {

// To which ports an lcore sends what it received on a port.
enum class Destination {
  kNone,  // It sends nothing.
  kPeer,  // The port that --port-topology pairs it with.
  kSelf,  // The port itself.
  kAny,   // The stages choose: the lcore gets a TX queue on every port.
};

// What work is dealt out to the lcores.
enum class Streams {
  kReceive,   // RX queues: each is polled by one lcore.
  kTransmit,  // TX queues: each is fed by one lcore; nothing is received.
};

struct ModeShape {
  Destination sends = Destination::kPeer;
  Streams streams = Streams::kReceive;
};

struct ModeCommand {
  absl::string_view syntax;
  absl::string_view help;
  size_t stage;
  absl::Status (*run)(std::span<void* const> stages, std::span<const std::string> arguments,
                      std::string& output);
};

struct ModeStage {
  absl::string_view name;
  std::span<const DropReason> drops;
  std::span<const StageCounter> counters;
  // Null when the stage has nothing to report.
  void (*section)(std::span<const uint64_t> counters, Json& section);
};

struct Mode {
  absl::string_view name;
  absl::string_view help;
  ModeShape shape;
  std::span<const ModeStage> stages;
  std::span<const ModeCommand> commands;
  absl::StatusOr<std::unique_ptr<LcoreProgram>> (*create)(const StageContext& context,
                                                          LcoreResources resources);
};

namespace mode_internal {

template <class T>
void ListCounters(std::span<const uint64_t> counters, Json& section) {
  for (size_t i = 0; i < counters.size(); ++i) {
    section[std::string(std::span<const StageCounter>(T::kCounters)[i].name)] = counters[i];
  }
}

template <class T>
constexpr auto SectionOf() -> void (*)(std::span<const uint64_t>, Json&) {
  if constexpr (requires { T::kSection.write; }) {
    return T::kSection.write;
  } else if constexpr (std::size(T::kCounters) > 0) {
    return &ListCounters<T>;
  } else {
    return nullptr;
  }
}

template <class T>
constexpr size_t CommandCount() {
  if constexpr (requires { std::size(T::kCommands); }) {
    return std::size(T::kCommands);
  } else {
    return 0;
  }
}

// Gives a command of T its stages back under their own type.
template <class T, size_t command>
absl::Status RunCommand(std::span<void* const> stages, std::span<const std::string> arguments,
                        std::string& output) {
  std::vector<T*> typed;
  for (void* stage : stages) typed.push_back(static_cast<T*>(stage));
  return T::kCommands[command].run(typed, arguments, output);
}

template <class... Stages>
struct Row {
  using Line = Pipeline<Stages...>;

  static constexpr ModeStage kStages[] = {
      {Stages::kName, Stages::kDrops, Stages::kCounters, SectionOf<Stages>()}...};

  static constexpr size_t kCommandCount = (CommandCount<Stages>() + ...);
  static constexpr auto kCommands = [] {
    std::array<ModeCommand, kCommandCount> all{};
    size_t at = 0;
    size_t stage = 0;
    const auto add = [&]<class T>() {
      if constexpr (CommandCount<T>() > 0) {
        [&]<size_t... i>(std::index_sequence<i...>) {
          ((all[at++] = ModeCommand{T::kCommands[i].syntax, T::kCommands[i].help, stage,
                                    &RunCommand<T, i>}),
           ...);
        }
        (std::make_index_sequence<CommandCount<T>()>());
      }
      ++stage;
    };
    (add.template operator()<Stages>(), ...);
    return all;
  }();

  using MakeLoop = std::unique_ptr<LcoreProgram> (*)(const StageContext& context,
                                                     LcoreResources resources, LcoreCounters layout,
                                                     std::unique_ptr<Line> line);
  template <bool kByQueue, bool kSomeSingleSegment, class Completion>
  static std::unique_ptr<LcoreProgram> Loop(const StageContext& context, LcoreResources resources,
                                            LcoreCounters layout, std::unique_ptr<Line> line) {
    return std::make_unique<LcoreLoop<Line, TxPolicy<kByQueue, kSomeSingleSegment>, Completion>>(
        context, std::move(resources), layout, std::move(line));
  }
  template <class Completion>
  static MakeLoop LoopFor(bool by_queue, bool single_segment) {
    if (by_queue) {
      return single_segment ? &Loop<true, true, Completion> : &Loop<true, false, Completion>;
    }
    return single_segment ? &Loop<false, true, Completion> : &Loop<false, false, Completion>;
  }

  // Picks the loop that does just what this lcore's part of the plan needs.
  static absl::StatusOr<std::unique_ptr<LcoreProgram>> Create(const StageContext& context,
                                                              LcoreResources resources) {
    PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Line> line, Line::Create(context));
    const LcoreCounters layout{context.rx.size(), context.tx.size(), Line::FirstDrop(Line::kStages),
                               Line::FirstCounter(Line::kStages), resources.reaped.size()};
    bool by_queue = false;
    bool single_segment = false;
    for (const TxQueue& queue : resources.tx) {
      by_queue |= queue.lock != nullptr || queue.sends != nullptr;
      single_segment |= queue.single_segment;
    }
    const MakeLoop make = resources.reaped.empty()
                              ? LoopFor<NoCompletion>(by_queue, single_segment)
                              : LoopFor<LcoreCompletion>(by_queue, single_segment);
    return make(context, std::move(resources), layout, std::move(line));
  }
};

}  // namespace mode_internal

template <class... Stages>
constexpr Mode MakeMode(absl::string_view name, absl::string_view help, ModeShape shape) {
  using Row = mode_internal::Row<Stages...>;
  return Mode{name, help, shape, Row::kStages, Row::kCommands, &Row::Create};
}

}  // namespace penstock

#endif  // PENSTOCK_LIB_PIPELINE_MODE_H_
