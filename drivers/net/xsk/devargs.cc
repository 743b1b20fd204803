// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the devargs; see the header. Control thread, at probe.

#include "drivers/net/xsk/devargs.h"

#include <net/if.h>
#include <rte_kvargs.h>

#include <array>
#include <memory>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status.h"
#include "lib/ring/burst_budget.h"

namespace penstock {
namespace {

constexpr uint32_t kMaxQueueIndex = 65535;

absl::Status Refuse(absl::string_view key, absl::string_view value, absl::string_view accepted) {
  return absl::InvalidArgumentError(
      absl::StrCat("devarg ", key, "=", value, ": accepted is ", accepted));
}

absl::Status ReadNumber(absl::string_view key, absl::string_view value, uint32_t min, uint32_t max,
                        uint32_t& out) {
  uint32_t number = 0;
  if (!absl::SimpleAtoi(value, &number) || number < min || number > max) {
    return Refuse(key, value, absl::StrCat(min, "…", max));
  }
  out = number;
  return absl::OkStatus();
}

// One of the words, by its place.
absl::StatusOr<size_t> ReadWord(absl::string_view key, absl::string_view value,
                                std::initializer_list<absl::string_view> words) {
  size_t place = 0;
  for (absl::string_view word : words) {
    if (word == value) return place;
    ++place;
  }
  return Refuse(key, value, absl::StrJoin(words, ", "));
}

absl::Status Read(absl::string_view key, absl::string_view value, XskOptions& options) {
  if (key == "iface") {
    if (value.empty() || value.size() >= IF_NAMESIZE) {
      return Refuse(key, value, "the name of an interface, 1…15 characters");
    }
    options.interface = std::string(value);
  } else if (key == "start_queue") {
    return ReadNumber(key, value, 0, kMaxQueueIndex, options.start_queue);
  } else if (key == "queue_count") {
    return ReadNumber(key, value, 1, kMaxQueueIndex, options.queue_count);
  } else if (key == "bind") {
    PENSTOCK_ASSIGN_OR_RETURN(const size_t at, ReadWord(key, value, {"auto", "copy", "zerocopy"}));
    options.bind = static_cast<BindMode>(at);
  } else if (key == "xdp_mode") {
    PENSTOCK_ASSIGN_OR_RETURN(const size_t at, ReadWord(key, value, {"auto", "native", "skb"}));
    options.attach = static_cast<AttachMode>(at);
  } else if (key == "budget") {
    if (value == "auto") {
      options.budget = 0;
    } else {
      const absl::Status read = ReadNumber(key, value, kMinTxBudget, 32768, options.budget);
      if (!read.ok()) return Refuse(key, value, "auto, or 32 … the TX descriptors of a queue");
    }
  } else if (key == "sndbuf") {
    return ReadNumber(key, value, 4096, 1u << 30, options.sndbuf_bytes);
  } else if (key == "busy_budget") {
    return ReadNumber(key, value, 0, 65535, options.busy_budget);
  } else if (key == "completion") {
    PENSTOCK_ASSIGN_OR_RETURN(const size_t at, ReadWord(key, value, {"stage", "inline"}));
    options.inline_completion = at == 1;
  } else if (key == "check_owner") {
    PENSTOCK_ASSIGN_OR_RETURN(const size_t at, ReadWord(key, value, {"0", "1"}));
    options.check_owner = at == 1;
  } else if (key == "filter") {
    PENSTOCK_ASSIGN_OR_RETURN(options.filter, ParseFilter(value));
  } else if (key == "xdp_prog") {
    if (value.empty()) return Refuse(key, value, "a BPF object file");
    options.program_file = std::string(value);
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown devarg '", key, "'; there are: ", PENSTOCK_XSK_PARAMETERS));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<XskOptions> ParseXskDevargs(absl::string_view name, const char* arguments) {
  const std::unique_ptr<rte_kvargs, void (*)(rte_kvargs*)> pairs(
      rte_kvargs_parse(arguments == nullptr ? "" : arguments, nullptr), rte_kvargs_free);
  if (pairs == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": devargs '", arguments, "' cannot be read; they are KEY=VALUE,KEY=VALUE,…"));
  }
  XskOptions options;
  std::set<std::string> seen;
  for (unsigned i = 0; i < pairs->count; ++i) {
    const rte_kvargs_pair& pair = pairs->pairs[i];
    if (!seen.insert(pair.key).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": devarg ", pair.key, " is given twice"));
    }
    PENSTOCK_RETURN_IF_ERROR(
        WithContext(Read(pair.key, pair.value == nullptr ? "" : pair.value, options), name));
  }
  if (options.interface.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": devarg iface is missing; say --vdev=", name, ",iface=eth0"));
  }
  if (!options.program_file.empty() && options.filter.config.everything == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": filter= and xdp_prog= exclude each other: the filter is in the driver's program"));
  }
  return options;
}

}  // namespace penstock
