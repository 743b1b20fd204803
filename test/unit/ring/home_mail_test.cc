// SPDX-License-Identifier: BSD-3-Clause
#include "lib/ring/home_mail.h"

#include <gtest/gtest.h>

#include <atomic>

namespace penstock {
namespace {

struct Home {
  std::atomic<uint32_t> bell{5};
  uint32_t heard = 5;
  int taken = 0;
  uint32_t as = 0;
};

TEST(HomeMail, TakesWhenTheBellSaysSomethingNew) {
  Home home;
  const HomeMail mail{.bell = &home.bell,
                      .heard = &home.heard,
                      .take =
                          [](void* pool, uint32_t number) noexcept {
                            auto* const me = static_cast<Home*>(pool);
                            me->heard = me->bell;
                            me->as = number;
                            ++me->taken;
                          },
                      .pool = &home,
                      .home = 3};
  mail.TakeHome();
  EXPECT_EQ(home.taken, 0);
  home.bell = 4;  // Any other value is news, a smaller one too.
  mail.TakeHome();
  EXPECT_EQ(home.taken, 1);
  EXPECT_EQ(home.as, 3u);
  mail.TakeHome();
  EXPECT_EQ(home.taken, 1);
}

}  // namespace
}  // namespace penstock
