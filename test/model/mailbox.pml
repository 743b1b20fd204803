// SPDX-License-Identifier: BSD-3-Clause
//
// lib/ring/home_pool.h: two lcores free what is at home with a third, through a mailbox each, and ring
// one bell; what finds no room goes to the depot. The home collects when the bell was rung, and now and
// then without. In every interleaving: no slot is overwritten before it was taken, none is taken before
// it was stored, each object is found once, and a home that only ever looks at the bell has found all
// when the others have finished.
//
// Twins that must be caught:
//   BROKEN_TAIL   the tail is shown before the slots are stored
//   BROKEN_HEAD   slots are given back before they are read
//   BROKEN_FULL   objects are put without a look at the head
//   BROKEN_BELL   the bell is rung before the tail is shown
//   BROKEN_HEARD  the home notes the bell after it looked at the tails
//   BROKEN_SAME   every ring is the same value

#define FREERS 2
#define OBJECTS 3  // of each freer
#define SIZE 2
#define EMPTY 255

byte slot[FREERS * SIZE] = EMPTY;  // EMPTY: free for the freer
byte tail[FREERS], head[FREERS];
byte bell;
byte found[FREERS * OBJECTS];  // how often each was found
byte finished;

#define SLOT(freer, index) slot[(freer) * SIZE + (index) % SIZE]

inline find(object) {
  atomic { found[object]++; assert(found[object] == 1) }
}

inline ring(value) {
#ifdef BROKEN_SAME
  bell = 1
#else
  bell = value
#endif
}

proctype Freer(byte me) {
  byte next, n, room, i, seen_head, trusted = 1, rings, shown;
  do
  :: next == OBJECTS -> break
  :: else ->
    // A run of one or two.
    if
    :: n = 1
    :: next + 2 <= OBJECTS -> n = 2
    fi;
    room = trusted - (shown - seen_head);
    if
    :: room < n ->
      i = head[me];
      if
      :: i != seen_head && 2 * trusted <= SIZE -> trusted = 2 * trusted
      :: else
      fi;
      seen_head = i;
      room = trusted - (shown - seen_head)
    :: else
    fi;
#ifdef BROKEN_FULL
    room = n;
#endif
    if :: room > n -> room = n :: else fi;
    if
    :: room > 0 ->
#ifdef BROKEN_TAIL
      tail[me] = shown + room;
#endif
#ifdef BROKEN_BELL
      rings++;
      ring(me * 16 + rings);
#endif
      i = 0;
      do
      :: i == room -> break
      :: else ->
        assert(SLOT(me, shown + i) == EMPTY);  // taken before
        SLOT(me, shown + i) = me * OBJECTS + next + i;
        i++
      od;
      shown = shown + room;
      tail[me] = shown;
#ifndef BROKEN_BELL
      rings++;
      ring(me * 16 + rings)
#endif
    :: else
    fi;
    // What there was no room for: the depot, under its lock.
    i = room;
    do
    :: i >= n -> break
    :: else -> find(me * OBJECTS + next + i); i++
    od;
    next = next + n
  od;
  atomic { finished++ }
}

byte heard;

inline collect() {
#ifndef BROKEN_HEARD
  heard = bell;
#endif
  freer = 0;
  do
  :: freer == FREERS -> break
  :: else ->
    waiting = tail[freer] - head[freer];
#ifdef BROKEN_HEAD
    from = head[freer];
    head[freer] = head[freer] + waiting;
#else
    from = head[freer];
#endif
    i = 0;
    do
    :: i == waiting -> break
    :: else ->
      object = SLOT(freer, from + i);
      assert(object != EMPTY);  // stored before it was shown
      find(object);
      SLOT(freer, from + i) = EMPTY;
      i++
    od;
#ifndef BROKEN_HEAD
    head[freer] = from + waiting;
#endif
    freer++
  od;
#ifdef BROKEN_HEARD
  heard = bell
#endif
}

active proctype Home() {
  byte freer, waiting, from, i, object;
  do
  :: bell != heard -> collect()
  :: finished < FREERS -> collect()  // short of objects
  :: finished == FREERS ->
    // From here on only the bell tells.
    if
    :: bell != heard -> collect()
    :: else -> break
    fi
  od;
  i = 0;
  do
  :: i == FREERS * OBJECTS -> break
  :: else -> assert(found[i] == 1); i++
  od
}

init {
  atomic { run Freer(0); run Freer(1) }
}
