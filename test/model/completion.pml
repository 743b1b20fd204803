// SPDX-License-Identifier: BSD-3-Clause
//
// lib/ring/consumer.h and in_flight.h under Shared: lcores send chunks and reap their completions
// from one ring, while the kernel may post the address of a chunk that is not out. In every
// interleaving: a chunk is freed only by who cleared its byte, never while the kernel has it, never
// twice, and none is left out in the end.
//
// Twins that must be caught:
//   BROKEN_BYTE     the byte is looked at, then cleared in a second step
//   BROKEN_NO_BYTE  every completion is believed
//   BROKEN_NO_LOCK  entries are taken without the lock
//   BROKEN_GIVE     slots are given back before their entries are read
//   BROKEN_MARK     the byte is set after the entry is published

#define LCORES 2
#define CHUNKS 2
#define SIZE 2
#define NONE 255

byte ring[SIZE] = NONE;   // COMPLETION
byte producer, consumer;  // shared with the kernel
bool lock_held;
bool out[CHUNKS];         // the byte: in flight
bool in_use[CHUNKS];      // not in the mempool
bool in_kernel[CHUNKS];   // published and not completed
byte completed, ended;
bool posted_bad;

inline take_lock() {
#ifndef BROKEN_NO_LOCK
  atomic { !lock_held -> lock_held = true }
#else
  skip
#endif
}
inline drop_lock() {
#ifndef BROKEN_NO_LOCK
  lock_held = false
#else
  skip
#endif
}

// What is read is marked as such: an entry goes to one lcore.
inline read(index) {
  atomic {
    chunk = ring[(index) % SIZE];
    assert(chunk != NONE);
    ring[(index) % SIZE] = NONE
  }
}
inline expose(value) {
  // The kernel stores into a slot that it was given back, then shows it.
  (producer - consumer < SIZE);
  atomic {
    assert(ring[producer % SIZE] == NONE);
    ring[producer % SIZE] = value
  }
  producer++
}

inline reap() {
  chunk = NONE;
  take_lock();
  first = consumer;
  if
  :: producer != first ->
#ifdef BROKEN_GIVE
    consumer = first + 1;
    read(first)
#else
    read(first);
    consumer = first + 1
#endif
  :: else
  fi;
  drop_lock();
  if
  :: chunk != NONE ->
#ifdef BROKEN_NO_BYTE
    mine = true;
    out[chunk] = false;
#else
#ifdef BROKEN_BYTE
    mine = out[chunk];
    out[chunk] = false;
#else
    atomic { mine = out[chunk]; out[chunk] = false }
#endif
#endif
    if
    :: mine ->
      atomic {
        assert(in_use[chunk]);      // not freed before
        assert(!in_kernel[chunk]);  // the kernel is done with it
        in_use[chunk] = false
      }
    :: else
    fi
  :: else
  fi
}

proctype Lcore(byte me) {
  byte chunk, first;
  bool mine;
  // Its own chunk, once: a bad completion of a chunk that is out again cannot be told from a good one.
  atomic { in_use[me] = true };
#ifdef BROKEN_MARK
  in_kernel[me] = true;
  out[me] = true;
#else
  out[me] = true;
  in_kernel[me] = true;
#endif
  do
  :: reap()
  :: completed == LCORES && producer == consumer -> break
  od;
  atomic { ended++ }
}

inline post(at) {
  in_kernel[at] = false;
  expose(at);
  if
  :: !posted_bad ->
    posted_bad = true;
    expose(at)
  :: skip
  fi;
  completed++
}

// Completes what it was given, posting one address a second time.
active proctype Kernel() {
  do
  :: in_kernel[0] -> post(0)
  :: in_kernel[1] -> post(1)
  :: completed == LCORES -> break
  od
}

init {
  atomic { run Lcore(0); run Lcore(1) };
  (ended == LCORES) -> assert(!in_use[0] && !in_use[1])
}
