// SPDX-License-Identifier: BSD-3-Clause
//
// HomeMail: where an lcore looks, once per burst, whether others have freed what is at home with
// it. Used by that lcore only. A pool of any kind can have one: what it is made of says the pool.
//
//   for (const HomeMail& mail : mails) mail.TakeHome();    // first thing of an iteration
//
// With nothing there this is one load of a word that nobody has written, beside one of the lcore's
// own: some two cycles.

#ifndef PENSTOCK_LIB_RING_HOME_MAIL_H_
#define PENSTOCK_LIB_RING_HOME_MAIL_H_

#include <atomic>
#include <cstdint>

namespace penstock {

struct HomeMail {
  const std::atomic<uint32_t>* bell;                 // Others change it.
  const uint32_t* heard;                             // What the home last saw there; its own.
  void (*take)(void* pool, uint32_t home) noexcept;  // Takes all that is waiting.
  void* pool;
  uint32_t home;

  void TakeHome() const noexcept {
    // Relaxed: `take` loads it again, with acquire.
    if (bell->load(std::memory_order_relaxed) != *heard) [[unlikely]] {
      take(pool, home);
    }
  }
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_RING_HOME_MAIL_H_
