// SPDX-License-Identifier: BSD-3-Clause
//
// lib/ring/producer.h under Shared: lcores reserve by count, prepare, cancel some, and publish under a
// lock; the other side takes entries in order and gives slots back. In every interleaving: no slot is
// overwritten before it was taken, none is shown before it was stored, nothing is lost or comes twice,
// and each lcore's entries come in its order.
//
// Twins that must be caught:
//   BROKEN_INDEX    a reservation is a range of slots, and cancelling moves the next one back
//   BROKEN_NO_LOCK  slots are dealt out and stored without the lock
//   BROKEN_EARLY    the index is shown before the entries are stored
//   BROKEN_ROOM     the room is asked for, then claimed in a second step

#define LCORES 2
#define ROUNDS 2
#define SIZE 2
#define EMPTY 255

byte slot[SIZE] = EMPTY;  // EMPTY: free for the producers
byte producer, consumer;  // shared with the other side
byte next, claimed;       // the producers' own
bool lock_held;
byte sent[LCORES], seen[LCORES];
byte finished;

// Entries are lcore and number in one byte.
#define ENTRY(lcore, number) ((lcore) * 16 + (number))

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

inline store(index, value) {
  assert(slot[(index) % SIZE] == EMPTY);  // not yet taken
  slot[(index) % SIZE] = value
}

proctype Lcore(byte me) {
  byte round, want, room, use, i, first, taken;
  do
  :: round == ROUNDS -> break
  :: else ->
    round++;
    if
    :: want = 1
    :: want = 2
    fi;
#ifdef BROKEN_ROOM
    room = (claimed - consumer > SIZE -> 0 : SIZE - (claimed - consumer));
    if :: room > want -> room = want :: else fi;
    claimed = claimed + room;
#else
    // The consumer may have moved on before the compare and exchange, which makes sum and claim one
    // step.
    taken = consumer;
    atomic {
      room = (claimed - taken > SIZE -> 0 : SIZE - (claimed - taken));
      if :: room > want -> room = want :: else fi;
#ifdef BROKEN_INDEX
      first = claimed;
#endif
      claimed = claimed + room
    }
#endif
    // Preparing may find that it has less to send.
    use = room;
    if
    :: use > 0 -> use--
    :: skip
    fi;
    atomic { claimed = claimed - (room - use) };
    if
    :: use > 0 ->
      take_lock();
#ifndef BROKEN_INDEX
      first = next;
#endif
#ifdef BROKEN_EARLY
      next = first + use;
      producer = next;
#endif
      i = 0;
      do
      :: i == use -> break
      :: else ->
        store(first + i, ENTRY(me, sent[me]));
        sent[me]++;
        i++
      od;
#ifdef BROKEN_INDEX
      next = next + use;
      producer = next;
#else
      next = first + use;
      producer = next;
#endif
      drop_lock()
    :: else
    fi
  od;
  atomic { finished++ }
}

active proctype OtherSide() {
  byte entry;
  do
  :: producer != consumer ->
    entry = slot[consumer % SIZE];
    assert(entry != EMPTY);  // stored before it was shown
    atomic {
      assert(entry % 16 == seen[entry / 16]);  // once, and in order
      seen[entry / 16]++;
      slot[consumer % SIZE] = EMPTY
    }
    consumer++
  :: producer == consumer && finished == LCORES -> break
  od;
  assert(seen[0] == sent[0] && seen[1] == sent[1]);
  assert(claimed == next && next == producer)
}

init {
  atomic { run Lcore(0); run Lcore(1) }
}
