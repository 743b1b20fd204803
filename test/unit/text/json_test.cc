// SPDX-License-Identifier: BSD-3-Clause
//
// The JSON value.

#include "lib/text/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace penstock {
namespace {

TEST(JsonTest, KeepsTheOrderOfKeysAndExactIntegers) {
  Json value;
  value["zulu"] = std::numeric_limits<uint64_t>::max();
  value["alpha"] = std::numeric_limits<int64_t>::min();
  value["mike"] = Json::array({1, "x", nullptr, true});
  EXPECT_EQ(FormatJson(value),
            "{\n"
            "  \"zulu\": 18446744073709551615,\n"
            "  \"alpha\": -9223372036854775808,\n"
            "  \"mike\": [\n    1,\n    \"x\",\n    null,\n    true\n  ]\n"
            "}\n");
  EXPECT_EQ(Json::parse(FormatJson(value)), value);
}

TEST(JsonTest, FormatsWhatJsonCannotHold) {
  EXPECT_EQ(FormatJson(Json("a\xff\n\"")), "\"a\xef\xbf\xbd\\n\\\"\"\n");
  EXPECT_EQ(FormatJson(Json(std::numeric_limits<double>::quiet_NaN())), "null\n");
}

}  // namespace
}  // namespace penstock
