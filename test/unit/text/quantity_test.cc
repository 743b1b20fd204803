// SPDX-License-Identifier: BSD-3-Clause
//
// Quantities.

#include "lib/text/quantity.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace penstock {
namespace {

constexpr absl::StatusCode kOk = absl::StatusCode::kOk;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kOutOfRange = absl::StatusCode::kOutOfRange;

struct Row {
  std::string text;
  absl::StatusCode code;
  uint64_t value = 0;
};

template <typename Parse>
void Check(std::initializer_list<Row> rows, Parse parse) {
  for (const Row& row : rows) {
    const absl::StatusOr<uint64_t> value = parse(row.text);
    EXPECT_EQ(value.status().code(), row.code) << row.text << ": " << value.status();
    if (value.ok()) {
      EXPECT_EQ(*value, row.value) << row.text;
      continue;
    }
    // Whatever the input, one printable line that says what is accepted.
    const std::string message(value.status().message());
    EXPECT_TRUE(absl::StrContains(message, "; accepted: ")) << message;
    EXPECT_LT(message.size(), 500u);
    for (const char c : message) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << message;
  }
}

TEST(QuantityTest, ParseUnsigned) {
  Check(
      {
          {"0", kOk, 0},
          {"7", kOk, 7},
          {"007", kOk, 7},
          {"0x1f", kOk, 31},
          {"0XfF", kOk, 255},
          {"18446744073709551615", kOk, kNoLimit},
          {"0xffffffffffffffff", kOk, kNoLimit},
          {"000000000000000000000000000001", kOk, 1},
          {"18446744073709551616", kOutOfRange},
          {"18446744073709551620", kOutOfRange},
          {"0x10000000000000000", kOutOfRange},
          {std::string(100000, '9'), kOutOfRange},
          {"", kInvalid},
          {"0x", kInvalid},
          {"x1", kInvalid},
          {"+1", kInvalid},
          {"-1", kInvalid},
          {" 1", kInvalid},
          {"1 ", kInvalid},
          {"1\n", kInvalid},
          {"1.0", kInvalid},
          {"1k", kInvalid},
          {"1e3", kInvalid},
          {"a", kInvalid},
          {"0xg", kInvalid},
          {"1_000", kInvalid},
          {"1,000", kInvalid},
          {{"1\0", 2}, kInvalid},
          {"\xff\xfe", kInvalid},
          {"\xd9\xa1", kInvalid},  // the Arabic digit one
      },
      [](const std::string& text) { return ParseUnsigned(text, 0, kNoLimit); });
}

TEST(QuantityTest, ParseUnsignedHoldsItsRange) {
  Check({{"1", kOk, 1}, {"512", kOk, 512}, {"0", kOutOfRange}, {"513", kOutOfRange}},
        [](const std::string& text) { return ParseUnsigned(text, 1, 512); });
  EXPECT_EQ(ParseUnsigned("513", 1, 512).status().message(),
            "\"513\": too large; accepted: a whole number from 1 to 512, decimal or hexadecimal "
            "after 0x");
  EXPECT_EQ(ParseUnsigned("ten\n", 1, 512).status().message(),
            "\"ten\\n\": not a whole number; accepted: a whole number from 1 to 512, decimal or "
            "hexadecimal after 0x");
}

TEST(QuantityTest, ParseSize) {
  Check(
      {
          {"0", kOk, 0},
          {"4096", kOk, 4096},
          {"4K", kOk, 4096},
          {"4k", kOk, 4096},
          {"64M", kOk, 67108864},
          {"64m", kOk, 67108864},
          {"2G", kOk, 2147483648},
          {"2g", kOk, 2147483648},
          {"1T", kOk, 1099511627776},
          {"1.5K", kOk, 1536},
          {"1.50000000000000000000000000000000000K", kOk, 1536},
          {"0.0009765625K", kOk, 1},
          {"2.0", kOk, 2},
          {"16777215T", kOk, 18446742974197923840u},
          {"18446744073709551615", kOk, kNoLimit},
          {"16777216T", kOutOfRange},
          {"18014398509481984K", kOutOfRange},
          {"18446744073709551615T", kOutOfRange},
          {"18446744073709551616", kOutOfRange},
          {"0.3K", kOutOfRange},
          {"0.5", kOutOfRange},
          {"1.0000000000000000001G", kOutOfRange},
          {"", kInvalid},
          {"K", kInvalid},
          {".5K", kInvalid},
          {"5.K", kInvalid},
          {"1.2.3K", kInvalid},
          {"-1K", kInvalid},
          {"1 K", kInvalid},
          {"1KB", kInvalid},
          {"1KK", kInvalid},
          {"1P", kInvalid},
          {"0x10", kInvalid},
          {"1e3", kInvalid},
          {"64M\n", kInvalid},
          {"\xff", kInvalid},
          {{"1\0K", 3}, kInvalid},
      },
      [](const std::string& text) { return ParseSize(text); });
}

TEST(QuantityTest, ParseRatePps) {
  Check(
      {
          {"0", kOk, 0},
          {"1000", kOk, 1000},
          {"1000pps", kOk, 1000},
          {"500k", kOk, 500000},
          {"500K", kOk, 500000},
          {"500kpps", kOk, 500000},
          {"500Kpps", kOk, 500000},
          {"1Mpps", kOk, 1000000},
          {"14.88M", kOk, 14880000},
          {"14.880952Mpps", kOk, 14880952},
          {"1G", kOk, 1000000000},
          {"18.446744073709551615Gpps", kOutOfRange},
          {"18446744073.709551615G", kOk, kNoLimit},
          {"18446744073.709551616G", kOutOfRange},
          {"0.0005k", kOutOfRange},
          {"1m", kInvalid},
          {"1mpps", kInvalid},
          {"1MPPS", kInvalid},
          {"pps", kInvalid},
          {"1 Mpps", kInvalid},
          {"1Mbps", kInvalid},
          {"50%", kInvalid},
          {"-1", kInvalid},
      },
      [](const std::string& text) { return ParseRatePps(text); });
}

TEST(QuantityTest, ParseDurationNs) {
  Check(
      {
          {"0", kOk, 0},
          {"10", kOk, 10'000'000'000},
          {"0.5", kOk, 500'000'000},
          {"250ns", kOk, 250},
          {"10us", kOk, 10'000},
          {"1.5ms", kOk, 1'500'000},
          {"1.5s", kOk, 1'500'000'000},
          {"5min", kOk, 300'000'000'000},
          {"1h", kOk, 3'600'000'000'000},
          {"0.000000001", kOk, 1},
          {"18446744073.709551615", kOk, kNoLimit},
          {"18446744073.709551616s", kOutOfRange},
          {"0.0000000001", kOutOfRange},
          {"0.5ns", kOutOfRange},
          {"99999999999999999999h", kOutOfRange},
          {"1m", kInvalid},
          {"1S", kInvalid},
          {"1sec", kInvalid},
          {"1m30s", kInvalid},
          {"-1s", kInvalid},
          {"10 us", kInvalid},
          {"inf", kInvalid},
          {"", kInvalid},
          {"\xc2\xb5s", kInvalid},
      },
      [](const std::string& text) { return ParseDurationNs(text); });
}

TEST(QuantityTest, RangesHoldAndAreShownAsTheyAreTyped) {
  EXPECT_EQ(ParseSize("4K", 4096, 4096).value(), 4096u);
  EXPECT_EQ(ParseSize("4097", 4096, uint64_t{2} << 30).value(), 4097u);
  EXPECT_EQ(ParseSize("1K", 4096, uint64_t{2} << 30).status().message(),
            "\"1K\": too small; accepted: a size from 4K to 2G, in bytes or with K, M, G or T "
            "(powers of 1024), such as 64M");
  EXPECT_EQ(ParseRatePps("2M", 1, 1'500'000).status().message(),
            "\"2M\": too large; accepted: a rate from 1pps to 1500kpps, in packets per second or "
            "with k, M or G (powers of 1000), such as 1.5Mpps");
  EXPECT_EQ(ParseDurationNs("0", 1'000).status().message(),
            "\"0\": too small; accepted: a time of at least 1us, in seconds or with ns, us, ms, s, "
            "min or h, such as 10us");
  EXPECT_EQ(
      ParseDurationNs("5 s").status().message(),
      "\"5 s\": \" s\" is no unit; accepted: a time, in seconds or with ns, us, ms, s, min or "
      "h, such as 10us");
  EXPECT_EQ(
      ParseDurationNs("2s", 0, 1'500'000'000).status().message(),
      "\"2s\": too large; accepted: a time from 0ns to 1500ms, in seconds or with ns, us, ms, "
      "s, min or h, such as 10us");
}

TEST(QuantityTest, ALongInputIsCutInTheMessage) {
  const std::string message(ParseSize(std::string(1'000'000, '\n')).status().message());
  EXPECT_LT(message.size(), 300u);
}

TEST(QuantityTest, FormatCount) {
  struct FormatRow {
    uint64_t value;
    std::string text;
  };
  const FormatRow kRows[] = {
      {0, "0"},
      {999, "999"},
      {1000, "1.00k"},
      {1004, "1.00k"},
      {1005, "1.01k"},
      {1234, "1.23k"},
      {9994, "9.99k"},
      {9995, "10.0k"},
      {99949, "99.9k"},
      {99950, "100k"},
      {999499, "999k"},
      {999500, "1.00M"},
      {12'345'678, "12.3M"},
      {14'880'952, "14.9M"},
      {1'000'000'000, "1.00G"},
      {2'500'000'000'000, "2.50T"},
      {7'000'000'000'000'000, "7.00P"},
      {18446744073709551615u, "18.4E"},
  };
  for (const FormatRow& row : kRows) EXPECT_EQ(FormatCount(row.value), row.text) << row.value;
}

TEST(QuantityTest, FormatSize) {
  struct FormatRow {
    uint64_t value;
    std::string text;
  };
  const FormatRow kRows[] = {
      {0, "0"},
      {1023, "1023"},
      {1024, "1K"},
      {1536, "1.50K"},
      {64 * 1024 * 1024, "64M"},
      {uint64_t{3} << 29, "1.50G"},
      {1000 * 1024 + 1, "1000K"},
      {1023 * 1024 + 511, "1023K"},
      {1023 * 1024 + 512, "1.00M"},
      {uint64_t{1} << 40, "1T"},
      {18446744073709551615u, "16777216T"},
  };
  for (const FormatRow& row : kRows) EXPECT_EQ(FormatSize(row.value), row.text) << row.value;
}

TEST(QuantityTest, FormatDurationNsIsExactAndParsesBack) {
  struct FormatRow {
    uint64_t value;
    std::string text;
  };
  const FormatRow kRows[] = {
      {0, "0s"},
      {1, "1ns"},
      {10'000, "10us"},
      {1'500'000'000, "1500ms"},
      {10'000'000'000, "10s"},
      {3'600'000'000'000, "3600s"},
      {18446744073709551615u, "18446744073709551615ns"},
  };
  for (const FormatRow& row : kRows) {
    EXPECT_EQ(FormatDurationNs(row.value), row.text) << row.value;
    EXPECT_EQ(ParseDurationNs(row.text).value(), row.value) << row.text;
  }
}

}  // namespace
}  // namespace penstock
