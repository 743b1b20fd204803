// SPDX-License-Identifier: BSD-3-Clause
//
// HomePool: a pool of objects each of which has a home, an lcore that it goes back to wherever it
// is freed. What drivers/mempool/deferred is made of; free of DPDK, lock-free between lcores.
//
//   HomePool<>* pool = HomePool<>::Create(shape, memory);   // zeroed, Bytes(shape) long
//   pool->Give(me, objects, n);                             // lcore `me` frees
//   if (!pool->Take(me, objects, n)) …                      // all n, or none
//
// An lcore is named by a number below shape.homes. Threads that have none use GiveAnywhere and
// TakeAnywhere. An object is in one of three places, or in use:
//
//   store     of its home, last in first out. Nobody else touches it.
//   mailbox   from the lcore that freed it to its home (mailbox.h).
//   depot     one for the pool, under a lock: what has no home yet, what found no room in a
//             store or a mailbox, what threads without a number freed.
//
// Take looks into the mailboxes if the bell was rung, gives what is in the store, looks into all
// mailboxes if that is too little, and only then goes to the depot, for what is missing, and for
// kBurst where less is: they are at home here from now on. Hence few objects are in circulation,
// the same again and again, and they are in a cache: for each home no more than are in use, what
// one call takes, and kBurst.
//
// The protocol, and why nothing is lost or given out twice:
//
// 1. Each mailbox has one writer and one reader, by construction: Give(me) writes those from `me`,
//    Take(me) and Collect(me) read those to `me`, and an lcore runs one of them at a time. Who may
//    do that is known beforehand and does not change, as in the kernel's deferred frees, so there
//    is no state to save, nothing to lock and nothing to ask. With OwnerGate as Words::Gate a
//    second thread that acts for the same lcore is trapped.
// 2. A mailbox hands over whole runs by its tail and gives the slots back by its head; mailbox.h
//    has the ordering. The store of tail or head is all that a run of any length costs: no atomic
//    read-modify-write, neither per object nor per run.
// 3. The bell is one word per home, written by whoever has put kBurst objects since it last rang,
//    each time with a value that was never there before. The home remembers what it last saw. It
//    notes the bell *before* it looks at the tails: a tail that is stored after that look is
//    followed by a ring that the note does not cover. The freer stores the tail *before* it rings.
//    Ringing is a store: when two freers ring at once, one value is overwritten, and the other is
//    still not what the home noted. That the home then sees both tails follows from x86's and
//    ARMv8's order of stores, not from C++'s; but
// 4. the bell is a hint. Before a home goes to the depot or fails it looks at every tail, rung or
//    not, so objects cannot be missed, only found later. That is also how less than kBurst are
//    found, for which nobody rings: freed one by one, objects cross in batches still.
// 5. A mailbox that is full, because its home is busy with something else or idle for good, costs
//    the lock of the depot and nothing else; the home, or whoever runs short, finds them there.
//    What an idle home keeps out of use is at most what its mailboxes hold, Slots(shape).mailbox
//    per lcore that freed, and its store.
// 6. The home of an object is a hint as well (home_hints.h), so there is no order between it and
//    where the object is.
// 7. Count adds up places one after the other: exact when nothing moves.
//
// test/model/mailbox.pml has 2 to 5 in every interleaving, with twins that each leave something
// out.

#ifndef PENSTOCK_LIB_RING_HOME_POOL_H_
#define PENSTOCK_LIB_RING_HOME_POOL_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "lib/base/cycles.h"
#include "lib/ring/home_hints.h"
#include "lib/ring/home_mail.h"
#include "lib/ring/mailbox.h"
#include "lib/ring/object_stack.h"
#include "lib/ring/ownership.h"

namespace penstock {

// A small number for the calling thread, the same at every call.
inline uint32_t ThreadNumber() noexcept {
  static std::atomic<uint32_t> last{0};
  thread_local const uint32_t mine = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return mine;
}

// What a pool is made of. Tests have one that loses time at every access.
template <typename HomeGate = OpenGate>
struct PointerWords {
  using Object = void*;
  template <typename T>
  using Atomic = std::atomic<T>;
  using Lock = SpinLock;
  using Gate = HomeGate;
  static uintptr_t Address(Object object) noexcept { return reinterpret_cast<uintptr_t>(object); }
};

// What of one call comes to a pool behind rte_mempool's cache of that size: a burst, or the cache's
// flush, which is half as much again as its size.
constexpr uint32_t BurstBehindCache(uint32_t cache) noexcept {
  return std::max<uint32_t>(32, cache + cache / 2);
}

struct HomeShape {
  uint32_t objects = 0;     // The most that are ever given to the pool.
  size_t object_bytes = 0;  // > 0: neighbours lie at least so far apart.
  uint32_t homes = 0;       // 1…kMaxHomes
  uint32_t burst = 32;      // > 0: as many as are usually given at once.
};

template <typename Words = PointerWords<>>
class HomePool {
 public:
  using Object = typename Words::Object;

  static constexpr uint32_t kMaxHomes = 253;
  static constexpr uint32_t kBurst = 32;  // What is worth a ring, and a way to the depot.

  // How much each place holds. In a pool of less than 8 objects only the depot has any.
  struct Slots {
    explicit Slots(const HomeShape& shape) noexcept;
    uint32_t mailbox;  // A power of two or 0; at most 8 bursts.
    uint32_t store;
  };

  static size_t Bytes(const HomeShape& shape) noexcept { return Layout(shape).end; }

  // In zeroed memory of Bytes(shape), aligned to kAlignment. There is nothing to destroy. Other
  // processes may use it that have the memory at the same address.
  static constexpr size_t kAlignment = 2 * kCacheLineBytes;
  static HomePool* Create(const HomeShape& shape, void* memory) noexcept {
    return new (memory) HomePool(shape, static_cast<std::byte*>(memory));
  }

  // ---- Lcore `me`. ----

  void Give(uint32_t me, const Object* objects, uint32_t n) noexcept;
  // All `n`, or false and none.
  bool Take(uint32_t me, Object* objects, uint32_t n) noexcept;
  // Takes what is in the mailboxes of `me` to its store.
  void Collect(uint32_t me) noexcept;
  // Whether somebody rang since Collect.
  bool Rung(uint32_t me) const noexcept {
    // Relaxed: Collect loads it again.
    return homes_[me].bell.load(std::memory_order_relaxed) != homes_[me].heard;
  }
  HomeMail MailOf(uint32_t me) noexcept;

  // ---- Any thread. ----

  void GiveAnywhere(const Object* objects, uint32_t n) noexcept { ToDepot(objects, n); }
  bool TakeAnywhere(Object* objects, uint32_t n) noexcept;
  // Objects that are not in use. Exact at rest.
  uint32_t Count() const noexcept;
  // Of these, those in the mailboxes of `home`.
  uint32_t WaitingFor(uint32_t home) const noexcept;

 private:
  using Lock = typename Words::Lock;
  using Box = Mailbox<Words>;
  using Stack = ObjectStack<Object>;

  // Hints. In between is the home plus one.
  static constexpr uint8_t kFresh = 0;     // Never taken: it goes to the depot.
  static constexpr uint8_t kNobody = 255;  // Taken by a thread without a number.

  struct alignas(kAlignment) Home {
    Home(Object* memory, uint32_t slots) noexcept : store(memory, slots) {}
    typename Words::template Atomic<uint32_t> bell{0};  // Written by freers.
    // Its own.
    alignas(kAlignment) Stack store;
    uint32_t heard = 0;
    uint32_t rings = 0;  // How often it rang elsewhere.
    [[no_unique_address]] typename Words::Gate gate;
  };

  // Where things are, in bytes from the beginning.
  struct Layout {
    explicit Layout(const HomeShape& shape) noexcept;
    Slots slots;
    size_t homes, boxes, stores, mail, depot, hints, end;
  };

  HomePool(const HomeShape& shape, std::byte* memory) noexcept;

  // The mailboxes of a home lie side by side.
  Box& BoxOf(uint32_t freer, uint32_t home) const noexcept {
    return boxes_[home * homes_n_ + freer];
  }
  uint32_t SameHint(const Object* objects, uint32_t n, uint8_t hint) const noexcept;
  void Keep(Home& mine, const Object* objects, uint32_t n) noexcept;
  void MakeRoom(Stack& store, uint32_t n) noexcept;
  uint32_t Send(uint32_t me, uint32_t home, const Object* objects, uint32_t n) noexcept;
  bool Adopt(uint32_t me, Object* objects, uint32_t n) noexcept;
  void ToDepot(const Object* objects, uint32_t n) noexcept;
  void SetHints(const Object* objects, uint32_t n, uint8_t hint) noexcept;
  void CheckOwner(Home& mine) noexcept;

  const uint32_t homes_n_;
  Home* const homes_;
  Box* const boxes_;
  HomeHints hints_;
  // The lock on the line of what it guards.
  alignas(kAlignment) Lock depot_lock_;
  Stack depot_;
};

template <typename Words>
HomePool<Words>::Slots::Slots(const HomeShape& shape) noexcept {
  const uint32_t share = shape.objects / 8;  // No single place hides more than that.
  // Two bursts, so that one can be put while the other is taken; up to eight where they are small.
  uint32_t wanted = std::min(std::bit_floor(8 * shape.burst),
                             std::max(8 * kBurst, std::bit_ceil(2 * shape.burst)));
  wanted = share == 0 ? 0 : std::min(wanted, std::bit_floor(share));
  // With many lcores there are many pairs, few of which meet: an eighth of the objects' memory.
  const size_t pairs = size_t{shape.homes} * shape.homes;
  const size_t most_bytes = shape.objects * shape.object_bytes / 8;
  while (wanted > kBurst && pairs * wanted * sizeof(Object) > most_bytes) wanted /= 2;
  mailbox = wanted;
  store = std::min(std::max(16 * kBurst, wanted), share);
}

template <typename Words>
HomePool<Words>::Layout::Layout(const HomeShape& shape) noexcept : slots(shape) {
  size_t at = sizeof(HomePool);
  const auto place = [&at](size_t count, size_t bytes) {
    const size_t start = (at + kAlignment - 1) / kAlignment * kAlignment;
    at = start + count * bytes;
    return start;
  };
  const size_t pairs = size_t{shape.homes} * shape.homes;
  homes = place(shape.homes, sizeof(Home));
  boxes = place(pairs, sizeof(Box));
  stores = place(size_t{shape.homes} * slots.store, sizeof(Object));
  mail = place(pairs * slots.mailbox, sizeof(Object));
  depot = place(shape.objects, sizeof(Object));
  hints = place(HomeHints::TableBytes(shape.objects, shape.object_bytes), 1);
  end = place(0, 1);
}

template <typename Words>
HomePool<Words>::HomePool(const HomeShape& shape, std::byte* memory) noexcept
    : homes_n_(shape.homes),
      homes_(reinterpret_cast<Home*>(memory + Layout(shape).homes)),
      boxes_(reinterpret_cast<Box*>(memory + Layout(shape).boxes)),
      hints_(reinterpret_cast<HomeHints::Byte*>(memory + Layout(shape).hints), shape.objects,
             shape.object_bytes),
      depot_(reinterpret_cast<Object*>(memory + Layout(shape).depot), shape.objects) {
  const Layout layout(shape);
  auto* const stores = reinterpret_cast<Object*>(memory + layout.stores);
  auto* const mail = reinterpret_cast<Object*>(memory + layout.mail);
  for (size_t home = 0; home < homes_n_; ++home) {
    new (&homes_[home]) Home(stores + home * layout.slots.store, layout.slots.store);
    for (size_t box = home * homes_n_; box < (home + 1) * homes_n_; ++box) {
      new (&boxes_[box]) Box(mail + box * layout.slots.mailbox, layout.slots.mailbox);
    }
  }
}

template <typename Words>
void HomePool<Words>::Give(uint32_t me, const Object* objects, uint32_t n) noexcept {
  Home& mine = homes_[me];
  CheckOwner(mine);
  // Mostly all have one home; where homes alternate, a run is one object, and still only a store.
  while (n > 0) {
    const uint8_t hint = hints_.Of(Words::Address(objects[0]));
    const uint32_t run = SameHint(objects, n, hint);
    if (hint == me + 1u) {
      Keep(mine, objects, run);
    } else if (hint == kNobody) {
      SetHints(objects, run, static_cast<uint8_t>(me + 1));
      Keep(mine, objects, run);
    } else {
      const uint32_t sent = hint == kFresh ? 0 : Send(me, hint - 1u, objects, run);
      if (sent < run) ToDepot(objects + sent, run - sent);
    }
    objects += run;
    n -= run;
  }
}

template <typename Words>
bool HomePool<Words>::Take(uint32_t me, Object* objects, uint32_t n) noexcept {
  Home& mine = homes_[me];
  CheckOwner(mine);
  const bool rung = Rung(me);
  if (rung) Collect(me);
  if (mine.store.Count() < n) [[unlikely]] {
    if (!rung) Collect(me);
    if (mine.store.Count() < n) return Adopt(me, objects, n);
  }
  mine.store.Pop(objects, n);
  return true;
}

template <typename Words>
void HomePool<Words>::Collect(uint32_t me) noexcept {
  Home& mine = homes_[me];
  CheckOwner(mine);
  // Acquire, and before the tails: see 3 above. Partner of the release in Send.
  mine.heard = mine.bell.load(std::memory_order_acquire);
  for (uint32_t freer = 0; freer < homes_n_; ++freer) {
    Box& box = BoxOf(freer, me);
    const uint32_t waiting = box.Waiting();
    if (waiting == 0) continue;
    if (mine.store.Room() < waiting) MakeRoom(mine.store, waiting);
    box.Take(mine.store.Extend(waiting), waiting);
  }
}

template <typename Words>
HomeMail HomePool<Words>::MailOf(uint32_t me) noexcept {
  static_assert(std::is_same_v<decltype(Home::bell), std::atomic<uint32_t>>);
  return {.bell = &homes_[me].bell,
          .heard = &homes_[me].heard,
          .take = [](void* pool,
                     uint32_t home) noexcept { static_cast<HomePool*>(pool)->Collect(home); },
          .pool = this,
          .home = me};
}

// How many, from the first on, have this hint.
template <typename Words>
inline uint32_t HomePool<Words>::SameHint(const Object* objects, uint32_t n,
                                          uint8_t hint) const noexcept {
  uint32_t i = 0;
  const auto differs = [&](uint32_t at) { return hints_.Of(Words::Address(objects[at])) ^ hint; };
  while (i + 4 <= n && (differs(i) | differs(i + 1) | differs(i + 2) | differs(i + 3)) == 0) i += 4;
  while (i < n && differs(i) == 0) ++i;
  return i;
}

template <typename Words>
inline void HomePool<Words>::Keep(Home& mine, const Object* objects, uint32_t n) noexcept {
  if (mine.store.Room() < n) [[unlikely]] {
    MakeRoom(mine.store, n);
    const uint32_t room = mine.store.Room();
    if (room < n) {
      ToDepot(objects, n - room);
      objects += n - room;
      n = room;
    }
  }
  mine.store.Push(objects, n);
}

// For `n` more objects, as far as there are slots. The oldest go, and half of all at least, so that
// the next calls find room.
template <typename Words>
void HomePool<Words>::MakeRoom(Stack& store, uint32_t n) noexcept {
  const uint32_t surplus =
      std::min(store.Count(), std::max(n - std::min(n, store.Room()), store.size() / 2));
  ToDepot(store.Oldest(), surplus);
  store.Forget(surplus);
}

// How many of the first it could send.
template <typename Words>
inline uint32_t HomePool<Words>::Send(uint32_t me, uint32_t home, const Object* objects,
                                      uint32_t n) noexcept {
  Box& box = BoxOf(me, home);
  const uint32_t sent = box.Put(objects, n);
  if (box.Unannounced() >= kBurst) {
    box.Announced();
    // Release, and after the tail: see 3 above. Partner of the acquire in Collect.
    homes_[home].bell.store((me + 1) << 24 | (++homes_[me].rings & 0xffffff),
                            std::memory_order_release);
  }
  return sent;
}

// The store is short: takes from the depot what is missing, and up to a burst for next time.
template <typename Words>
bool HomePool<Words>::Adopt(uint32_t me, Object* objects, uint32_t n) noexcept {
  Stack& store = homes_[me].store;
  const uint32_t missing = n - store.Count();
  const auto hint = static_cast<uint8_t>(me + 1);
  uint32_t more = 0;
  {
    ScopedLock guard(depot_lock_);
    if (depot_.Count() < missing) return false;
    depot_.Pop(objects, missing);
    store.Pop(objects + missing, n - missing);  // All: it is empty now.
    if (missing < kBurst) more = std::min({kBurst - missing, depot_.Count(), store.size()});
    depot_.Pop(store.Extend(more), more);
  }
  SetHints(objects, missing, hint);
  SetHints(store.Oldest(), more, hint);
  return true;
}

template <typename Words>
bool HomePool<Words>::TakeAnywhere(Object* objects, uint32_t n) noexcept {
  {
    ScopedLock guard(depot_lock_);
    if (depot_.Count() < n) return false;
    depot_.Pop(objects, n);
  }
  SetHints(objects, n, kNobody);
  return true;
}

template <typename Words>
void HomePool<Words>::ToDepot(const Object* objects, uint32_t n) noexcept {
  ScopedLock guard(depot_lock_);
  // It has room for every object there is. More are there only if one was freed twice, and then
  // the memory behind must not suffer as well.
  depot_.Push(objects, std::min(n, depot_.Room()));
}

template <typename Words>
void HomePool<Words>::SetHints(const Object* objects, uint32_t n, uint8_t hint) noexcept {
  for (uint32_t i = 0; i < n; ++i) hints_.Set(Words::Address(objects[i]), hint);
}

template <typename Words>
uint32_t HomePool<Words>::Count() const noexcept {
  uint32_t count = depot_.Count();
  for (uint32_t home = 0; home < homes_n_; ++home) {
    count += homes_[home].store.Count() + WaitingFor(home);
  }
  return count;
}

template <typename Words>
uint32_t HomePool<Words>::WaitingFor(uint32_t home) const noexcept {
  uint32_t count = 0;
  for (uint32_t freer = 0; freer < homes_n_; ++freer) count += BoxOf(freer, home).Count();
  return count;
}

template <typename Words>
inline void HomePool<Words>::CheckOwner([[maybe_unused]] Home& mine) noexcept {
  if constexpr (!std::is_same_v<typename Words::Gate, OpenGate>) {
    if (mine.gate.Enter(ThreadNumber()) != 0) __builtin_trap();
  }
}

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_HOME_POOL_H_
