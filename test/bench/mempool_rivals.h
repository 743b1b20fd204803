// SPDX-License-Identifier: BSD-3-Clause
//
// For mempool_bench: the mempools that are compared, and as mempool ops the one that anybody would
// write first, a list of mbufs under a spinlock.

#ifndef PENSTOCK_TEST_BENCH_MEMPOOL_RIVALS_H_
#define PENSTOCK_TEST_BENCH_MEMPOOL_RIVALS_H_

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_spinlock.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

namespace penstock {

struct LockedList {
  rte_spinlock_t lock;
  rte_mbuf* first;
  unsigned count;
};

inline int AllocList(rte_mempool* pool) {
  pool->pool_data = rte_zmalloc("locked_list", sizeof(LockedList), RTE_CACHE_LINE_SIZE);
  return pool->pool_data == nullptr ? -ENOMEM : 0;
}
inline void FreeList(rte_mempool* pool) { rte_free(pool->pool_data); }
inline int EnqueueList(rte_mempool* pool, void* const* objects, unsigned n) {
  auto* const list = static_cast<LockedList*>(pool->pool_data);
  // Linked before the lock is taken.
  for (unsigned i = 0; i + 1 < n; ++i) {
    static_cast<rte_mbuf*>(objects[i])->next = static_cast<rte_mbuf*>(objects[i + 1]);
  }
  rte_spinlock_lock(&list->lock);
  static_cast<rte_mbuf*>(objects[n - 1])->next = list->first;
  list->first = static_cast<rte_mbuf*>(objects[0]);
  list->count += n;
  rte_spinlock_unlock(&list->lock);
  return 0;
}
inline int DequeueList(rte_mempool* pool, void** objects, unsigned n) {
  auto* const list = static_cast<LockedList*>(pool->pool_data);
  rte_spinlock_lock(&list->lock);
  if (list->count < n) {
    rte_spinlock_unlock(&list->lock);
    return -ENOBUFS;
  }
  for (unsigned i = 0; i < n; ++i) {
    rte_mbuf* const mbuf = list->first;
    list->first = mbuf->next;
    objects[i] = mbuf;
  }
  list->count -= n;
  rte_spinlock_unlock(&list->lock);
  for (unsigned i = 0; i < n; ++i) static_cast<rte_mbuf*>(objects[i])->next = nullptr;
  return 0;
}
inline unsigned CountList(const rte_mempool* pool) {
  return static_cast<LockedList*>(pool->pool_data)->count;
}

inline const rte_mempool_ops kLockedList = {.name = "locked_list",
                                            .alloc = AllocList,
                                            .free = FreeList,
                                            .enqueue = EnqueueList,
                                            .dequeue = DequeueList,
                                            .get_count = CountList,
                                            .calc_mem_size = nullptr,
                                            .populate = nullptr,
                                            .get_info = nullptr,
                                            .dequeue_contig_blocks = nullptr};

// rte_pktmbuf_init(), which runs when all mbufs are in the pool, clears the links.
inline void LinkAgain(rte_mempool* pool) {
  auto* const list = static_cast<LockedList*>(pool->pool_data);
  list->first = nullptr;
  list->count = 0;
  rte_mempool_obj_iter(
      pool, [](rte_mempool* mine, void*, void* object, unsigned) { EnqueueList(mine, &object, 1); },
      nullptr);
}

// One producer and one consumer at a time: not for lcores that both allocate and free.
inline bool SingleSided(const char* ops) { return std::string_view(ops) == "ring_sp_sc"; }

inline constexpr const char* kRivals[] = {"ring_mp_mc", "ring_sp_sc", "stack",
                                          "lf_stack",   "bucket",     "locked_list"};

// Null if this DPDK lacks the ops, said on stderr.
inline rte_mempool* MakePool(const char* ops, unsigned mbufs, unsigned cache) {
  static unsigned made = 0;
  char name[32];
  std::snprintf(name, sizeof(name), "bench_%u", made++);
  rte_mempool* const pool =
      rte_pktmbuf_pool_create_by_ops(name, mbufs, cache, 0, 2176, SOCKET_ID_ANY, ops);
  if (pool == nullptr) {
    std::fprintf(stderr, "mempool_bench: no pool of %u mbufs with ops %s: %s\n", mbufs, ops,
                 rte_strerror(rte_errno));
  } else if (std::string_view(ops) == kLockedList.name) {
    LinkAgain(pool);
  }
  return pool;
}

}  // namespace penstock

#endif  // PENSTOCK_TEST_BENCH_MEMPOOL_RIVALS_H_
