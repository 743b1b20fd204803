// SPDX-License-Identifier: BSD-3-Clause
//
// The mempool ops "deferred": lib/ring/home_pool.h in DPDK's words. Alloc and free run on a control
// thread, everything else on any thread.

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <optional>

#include "drivers/mempool/deferred/mail.h"
#include "drivers/mempool/deferred/rte_mempool_deferred.h"
#include "lib/ring/home_pool.h"

namespace penstock {
namespace {

#ifdef NDEBUG
using Pool = HomePool<PointerWords<OpenGate>>;
#else
// A thread that drains what is not at home with it is trapped.
using Pool = HomePool<PointerWords<OwnerGate>>;
#endif

constexpr uint16_t kNoHome = UINT16_MAX;

// rte_mempool's pool_data. In memory that secondary processes share.
struct alignas(Pool::kAlignment) Deferred {
  std::array<uint16_t, RTE_MAX_LCORE> home_of_lcore;
  Pool* pool;

  uint32_t Home() const noexcept {
    const unsigned lcore = rte_lcore_id();
    return lcore < RTE_MAX_LCORE ? home_of_lcore[lcore] : uint32_t{kNoHome};
  }
};

Deferred& Of(const rte_mempool* mempool) { return *static_cast<Deferred*>(mempool->pool_data); }

int Alloc(rte_mempool* mempool) {
  std::array<uint16_t, RTE_MAX_LCORE> home_of_lcore;
  uint16_t homes = 0;
  for (unsigned lcore = 0; lcore < RTE_MAX_LCORE; ++lcore) {
    // An lcore of a registered thread may be another thread's tomorrow: it has none.
    const rte_lcore_role_t role = rte_eal_lcore_role(lcore);
    const bool stays = (role == ROLE_RTE || role == ROLE_SERVICE) && homes < Pool::kMaxHomes;
    home_of_lcore[lcore] = stays ? homes++ : kNoHome;
  }
  const HomeShape shape{
      .objects = mempool->size,
      .object_bytes = size_t{mempool->header_size} + mempool->elt_size + mempool->trailer_size,
      .homes = homes,
      .burst = BurstBehindCache(mempool->cache_size)};
  void* const memory = rte_zmalloc_socket("mempool_deferred", sizeof(Deferred) + Pool::Bytes(shape),
                                          Pool::kAlignment, mempool->socket_id);
  if (memory == nullptr) return -ENOMEM;
  auto* const deferred = new (memory) Deferred{.home_of_lcore = home_of_lcore, .pool = nullptr};
  deferred->pool = Pool::Create(shape, deferred + 1);
  mempool->pool_data = deferred;
  return 0;
}

void Free(rte_mempool* mempool) { rte_free(mempool->pool_data); }

int Enqueue(rte_mempool* mempool, void* const* objects, unsigned n) {
  const Deferred& deferred = Of(mempool);
  const uint32_t home = deferred.Home();
  if (home != kNoHome) [[likely]] {
    deferred.pool->Give(home, objects, n);
  } else {
    deferred.pool->GiveAnywhere(objects, n);
  }
  return 0;
}

int Dequeue(rte_mempool* mempool, void** objects, unsigned n) {
  const Deferred& deferred = Of(mempool);
  const uint32_t home = deferred.Home();
  const bool taken = home != kNoHome ? deferred.pool->Take(home, objects, n)
                                     : deferred.pool->TakeAnywhere(objects, n);
  return taken ? 0 : -ENOBUFS;
}

unsigned GetCount(const rte_mempool* mempool) { return Of(mempool).pool->Count(); }

}  // namespace

const rte_mempool_ops kDeferredOps = {.name = "deferred",
                                      .alloc = Alloc,
                                      .free = Free,
                                      .enqueue = Enqueue,
                                      .dequeue = Dequeue,
                                      .get_count = GetCount,
                                      .calc_mem_size = nullptr,
                                      .populate = nullptr,
                                      .get_info = nullptr,
                                      .dequeue_contig_blocks = nullptr};

int RegisterDeferredOps() {
  for (unsigned i = 0; i < rte_mempool_ops_table.num_ops; ++i) {
    if (std::strcmp(rte_mempool_ops_table.ops[i].name, kDeferredOps.name) == 0) return 0;
  }
  const int index = rte_mempool_register_ops(&kDeferredOps);
  return index < 0 ? -index : 0;
}

namespace {

bool IsDeferred(const rte_mempool* mempool) {
  return rte_mempool_get_ops(mempool->ops_index)->dequeue == Dequeue &&
         mempool->pool_data != nullptr;
}

}  // namespace

std::optional<HomeMail> DeferredMailOf(rte_mempool* pool, unsigned lcore) {
  if (!IsDeferred(pool) || lcore >= RTE_MAX_LCORE) return std::nullopt;
  const uint16_t home = Of(pool).home_of_lcore[lcore];
  if (home == kNoHome) return std::nullopt;
  return Of(pool).pool->MailOf(home);
}

}  // namespace penstock

__attribute__((visibility("default"))) void rte_mempool_deferred_take_home(rte_mempool* pool) {
  if (!penstock::IsDeferred(pool)) return;
  const penstock::Deferred& deferred = penstock::Of(pool);
  const uint32_t home = deferred.Home();
  if (home != penstock::kNoHome) deferred.pool->MailOf(home).TakeHome();
}
