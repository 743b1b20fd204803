// SPDX-License-Identifier: BSD-3-Clause
//
// EAL's command line in every way it can be written. Single thread.

#include "lib/port/eal_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

using Words = std::vector<std::string>;

TEST(IsEalArgument, KnowsBothSpellingsAndNoLookAlike) {
  EXPECT_TRUE(IsEalArgument("--vdev", "--vdev"));
  EXPECT_TRUE(IsEalArgument("--vdev=net_null0", "--vdev"));
  EXPECT_FALSE(IsEalArgument("--vdevs=net_null0", "--vdev"));
  EXPECT_FALSE(IsEalArgument("--vde", "--vdev"));
  EXPECT_TRUE(IsEalArgument("-l", "-l"));
  EXPECT_TRUE(IsEalArgument("-l0,1", "-l"));
  EXPECT_FALSE(IsEalArgument("--lcores=0", "-l"));
}

TEST(EalArgumentValues, OneWordOrTwo) {
  EXPECT_THAT(EalArgumentValues(Words{"--vdev=a,b=c", "-l", "0", "--vdev", "d"}, "--vdev"),
              ElementsAre("a,b=c", "d"));
  EXPECT_THAT(EalArgumentValues(Words{"-l0,1", "-m=64"}, "-l"), ElementsAre("0,1"));
  EXPECT_THAT(EalArgumentValues(Words{"-m=64"}, "-m"), ElementsAre("64"));
  EXPECT_THAT(EalArgumentValues(Words{"-l"}, "-l"), ElementsAre(""));
  EXPECT_THAT(EalArgumentValues(Words{"-l", "0"}, "-m"), IsEmpty());
}

TEST(EalArgumentValue, IsTheFirst) {
  EXPECT_EQ(EalArgumentValue(Words{"-a", "1", "-a", "2"}, "-a"), "1");
  EXPECT_EQ(EalArgumentValue(Words{}, "-a"), "");
}

TEST(TypedEalArgument, AsItMayStandInAMessage) {
  const Words words = {"--vdev", "net_null0", "--vdev=net_foo\n", "-l0,1"};
  EXPECT_EQ(TypedEalArgument(words, "--vdev"), "--vdev=net_null0");
  EXPECT_EQ(TypedEalArgument(words, "--vdev", "net_f"), "--vdev=net_foo\\n");
  EXPECT_EQ(TypedEalArgument(words, "-l"), "-l 0,1");
  EXPECT_EQ(TypedEalArgument(words, "--vdev", "net_b"), "");
  EXPECT_EQ(TypedEalArgument(words, "-m"), "");
}

TEST(EalDevices, NameDriverAndKeys) {
  const std::vector<EalDevice> devices = EalDevices(
      Words{"-a", "0000:03:00.0,dv=1", "--vdev=net_af_xdp12,iface=eth1,path=a=b,copy", "-l", "0"});
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].name, "net_af_xdp12");
  EXPECT_EQ(devices[0].driver, "net_af_xdp");
  EXPECT_TRUE(devices[0].is_virtual);
  EXPECT_EQ(devices[0].typed, "--vdev=net_af_xdp12,iface=eth1,path=a=b,copy");
  EXPECT_THAT(devices[0].keys,
              ElementsAre(Pair("iface", "eth1"), Pair("path", "a=b"), Pair("copy", "")));
  EXPECT_EQ(devices[1].name, "0000:03:00.0");
  EXPECT_EQ(devices[1].driver, "");
  EXPECT_FALSE(devices[1].is_virtual);
  EXPECT_EQ(devices[1].typed, "-a 0000:03:00.0,dv=1");
  EXPECT_THAT(EalDevices(Words{}), IsEmpty());
}

}  // namespace
}  // namespace penstock
