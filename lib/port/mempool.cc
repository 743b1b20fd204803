// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/mempool.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_memzone.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/quote.h"
#include "lib/base/status.h"
#include "lib/config/configuration.h"
#include "lib/text/quantity.h"

namespace penstock {

// What lib/config says without DPDK.
static_assert(kHeadroomBytes == RTE_PKTMBUF_HEADROOM);
static_assert(kMaxMbufCache == RTE_MEMPOOL_CACHE_MAX_SIZE);
static_assert(kMaxPorts == RTE_MAX_ETHPORTS);

namespace {

constexpr char kDeferredOps[] = "deferred";

void FreeMemzone(rte_mempool_memhdr*, void* memzone) {
  rte_memzone_free(static_cast<const rte_memzone*>(memzone));
}

// As rte_pktmbuf_pool_create(), which cannot be told to leave no gaps. Null with rte_errno set.
rte_mempool* CreateWithoutGaps(const Mempool::Settings& settings, uint32_t cache) {
  rte_pktmbuf_pool_private room{};
  room.mbuf_data_room_size = settings.data_room_bytes;
  // The flag closes the gaps. Memory for devices is nevertheless contiguous for them, because it is
  // reserved so below, and its address is given to the pool.
  rte_mempool* const pool = rte_mempool_create_empty(
      settings.name.c_str(), settings.mbufs,
      static_cast<unsigned>(sizeof(rte_mbuf)) + settings.data_room_bytes, cache, sizeof(room),
      settings.numa_node, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
  if (pool == nullptr) return nullptr;
  int error = 0;
  absl::Cleanup undo = [&] {
    rte_mempool_free(pool);
    rte_errno = error;
  };
  error = -rte_mempool_set_ops_byname(pool, settings.ops.c_str(), nullptr);
  if (error != 0) return nullptr;
  rte_pktmbuf_pool_init(pool, &room);

  const size_t bytes =
      size_t{settings.mbufs} * (pool->header_size + pool->elt_size + pool->trailer_size);
  const bool scattered = rte_eal_iova_mode() == RTE_IOVA_PA;  // Neighbouring pages need not be so.
  const rte_memzone* const memzone = rte_memzone_reserve_aligned(
      absl::StrCat(settings.name, "_mem").c_str(), bytes, settings.numa_node,
      settings.dma && scattered ? RTE_MEMZONE_IOVA_CONTIG : 0, RTE_CACHE_LINE_SIZE);
  if (memzone == nullptr) {
    error = rte_errno;
    return nullptr;
  }
  const int populated =
      rte_mempool_populate_iova(pool, static_cast<char*>(memzone->addr),
                                settings.dma || !scattered ? memzone->iova : RTE_BAD_IOVA, bytes,
                                FreeMemzone, const_cast<rte_memzone*>(memzone));
  if (populated != static_cast<int>(settings.mbufs)) {
    error = populated < 0 ? -populated : ENOMEM;
    if (populated <= 0) rte_memzone_free(memzone);  // Else it is the pool's already.
    return nullptr;
  }
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  std::move(undo).Cancel();
  return pool;
}

std::vector<absl::string_view> KnownOps() {
  std::vector<absl::string_view> known;
  for (unsigned i = 0; i < rte_mempool_ops_table.num_ops; ++i) {
    known.push_back(rte_mempool_ops_table.ops[i].name);
  }
  return known;
}

}  // namespace

absl::StatusOr<std::string> OpsFor(MempoolOps wanted) {
  const char* const told = rte_eal_mbuf_user_pool_ops();
  if (wanted == MempoolOps::kWhatIsThere) {
    // A platform's own mempool is there because its devices need it.
    if (told != nullptr || rte_mbuf_platform_mempool_ops() != nullptr) {
      return std::string(rte_mbuf_best_mempool_ops());
    }
    const std::vector<absl::string_view> known = KnownOps();
    const bool linked = std::ranges::find(known, kDeferredOps) != known.end();
    return linked ? kDeferredOps : rte_mbuf_best_mempool_ops();
  }
  const char* const ops = wanted == MempoolOps::kDeferred ? kDeferredOps : "ring_mp_mc";
  if (told != nullptr && absl::string_view(told) != ops) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--mempool: %s is asked for, and by EAL's --mbuf-pool-ops-name %s; leave "
                        "one of the two out",
                        ops, Shown(told)));
  }
  return std::string(ops);
}

absl::StatusOr<Mempool> Mempool::Create(const Settings& settings) {
  // DPDK refuses a cache that could empty the pool: one and a half times its size must fit.
  const uint32_t cache = std::min(settings.cache, settings.mbufs * 2 / 3);
  rte_mempool* const pool =
      settings.without_gaps
          ? CreateWithoutGaps(settings, cache)
          : rte_pktmbuf_pool_create_by_ops(settings.name.c_str(), settings.mbufs, cache,
                                           /*priv_size=*/0, settings.data_room_bytes,
                                           settings.numa_node, settings.ops.c_str());
  if (pool != nullptr) return Mempool(pool);
  const int error = rte_errno;
  const std::string what = absl::StrFormat("rte_pktmbuf_pool_create(%s, %d mbufs of %d bytes)",
                                           settings.name, settings.mbufs, settings.data_room_bytes);
  if (error == ENOMEM) {
    const uint64_t bytes = uint64_t{settings.mbufs} * (settings.data_room_bytes + 256u);
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%s: not enough memory for about %s; give more with --memory, or fewer mbufs with "
        "--total-num-mbufs",
        what, FormatSize(bytes)));
  }
  const std::vector<absl::string_view> known = KnownOps();
  if (std::ranges::find(known, settings.ops) == known.end()) {
    return absl::NotFoundError(
        absl::StrFormat("--mbuf-pool-ops-name=%s: no such mempool; accepted: %s",
                        Shown(settings.ops), absl::StrJoin(known, ", ")));
  }
  return ErrnoStatus(error, what);
}

std::string Mempool::ops() const { return rte_mempool_get_ops(pool_->ops_index)->name; }

}  // namespace penstock
