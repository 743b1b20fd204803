// SPDX-License-Identifier: BSD-3-Clause
//
// lib/esp/replay_window.h on a ring of two words of two numbers: lcores check bursts of two numbers,
// any two of three laps. In every interleaving: no number is accepted twice; late is said only of
// numbers that the window has passed, replayed only of numbers that were accepted; the lap of a word
// never falls. Laps are stored modulo 4, so that they need the top to be told apart.
//
// Twins that must be caught:
//   BROKEN_CLEAR   the window of RFC 6479: raise the top, clear the words that come in, set the bit
//   BROKEN_STORE   the word is looked at, then stored
//   BROKEN_LAP     any other lap is taken for an older one
//   BROKEN_ORDER   the top is raised after the words
//   BROKEN_RING    the window is as large as the ring, without a word to spare

#define LCORES 2
#define NUMBERS 2              // in a word
#define WORDS 2
#define RING (NUMBERS * WORDS)
#define LAPS 4                 // stored modulo this
#define MOST 10                // the largest number, in lap 2
#ifdef BROKEN_RING
#define WINDOW (RING + 1)
#else
#define WINDOW (RING - NUMBERS)
#endif

#define WORD(s) (((s) / NUMBERS) % WORDS)
#define LAP(s) ((s) / RING)
#define BIT(s) (1 << ((s) % NUMBERS))

byte lap[WORDS], bits[WORDS];  // one word of 64 bits: changed together
byte true_lap[WORDS];          // all of the lap, for the assertion
byte top;
bool accepted[MOST + 1];

inline raise() {
  atomic {
    before = top;
    if
    :: largest > top -> top = largest
    :: else
    fi
  }
}

// The top may have been raised by somebody who has not come to the words yet.
inline late(s) { assert(s == 0 || s + WINDOW <= top || s + WINDOW <= so_far) }
inline replayed(s) { assert(accepted[s]) }
inline accept(s) {
  assert(!accepted[s]);
  accepted[s] = true
}

#ifndef BROKEN_CLEAR
inline exchange(s) {
  assert(LAP(s) >= true_lap[WORD(s)]);
  lap[WORD(s)] = LAP(s) % LAPS;
  true_lap[WORD(s)] = LAP(s);
  bits[WORD(s)] = had | BIT(s);
  accept(s)
}

inline claim(s) {
  do
  ::
    d_step { seen_lap = lap[WORD(s)]; seen_bits = bits[WORD(s)] };
    ahead = (LAPS + seen_lap - LAP(s) % LAPS) % LAPS;
    if
#ifdef BROKEN_LAP
    :: false
#else
    // Not this lap, not the one before: later only if the top is as far.
    :: ahead != 0 && ahead != LAPS - 1 && LAP(top) >= LAP(s) + ahead -> late(s); break
#endif
    :: else ->
      had = (ahead == 0 -> seen_bits : 0);
      if
      :: had & BIT(s) -> replayed(s); break
      :: else
      fi;
#ifdef BROKEN_STORE
      atomic { exchange(s); break }
#else
      atomic {
        if
        :: lap[WORD(s)] == seen_lap && bits[WORD(s)] == seen_bits -> exchange(s); break
        :: else  // somebody was faster
        fi
      }
#endif
    fi
  od
}
#else
inline claim(s) {
  atomic {
    if
    :: bits[WORD(s)] & BIT(s)  // or left over from a lap ago
    :: else -> bits[WORD(s)] = bits[WORD(s)] | BIT(s); accept(s)
    fi
  }
}

// The words after that of the top before, up to that of the new one.
inline clear(s) {
  block = before / NUMBERS;
  do
  :: block < s / NUMBERS -> block++; bits[block % WORDS] = 0
  :: else -> break
  od
}
#endif

inline check(s) {
  if
  :: s == 0 || s + WINDOW <= so_far -> late(s)
  :: else ->
    if
    :: s > so_far -> so_far = s
    :: else
    fi;
    claim(s)
  fi
}

proctype Lcore() {
  byte first, second, largest, before, so_far, seen_lap, seen_bits, had, ahead, block;
  atomic { select(first : 0 .. MOST); select(second : 0 .. MOST) };
  largest = (first > second -> first : second);
#ifdef BROKEN_CLEAR
  // One number after the other.
  largest = first;
  raise();
  clear(first);
  so_far = before;
  check(first);
  largest = second;
  raise();
  clear(second);
  so_far = before;
  check(second);
#else
#ifdef BROKEN_ORDER
  so_far = top;
  check(first);
  check(second);
  raise();
#else
  raise();
  so_far = before;
  check(first);
  check(second);
#endif
#endif
}

init {
  byte i;
  atomic {
    for (i : 1 .. LCORES) { run Lcore() }
  }
}
