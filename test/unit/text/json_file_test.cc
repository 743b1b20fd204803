// SPDX-License-Identifier: BSD-3-Clause
//
// JSON files.

#include "lib/text/json_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"

namespace penstock {
namespace {

class JsonFileTest : public testing::Test {
 protected:
  JsonFileTest() {
    std::string name = testing::TempDir() + "penstock_json_XXXXXX";
    directory_ = mkdtemp(name.data());
    path_ = directory_ + "/report.json";
  }
  ~JsonFileTest() override { std::filesystem::remove_all(directory_); }

  size_t Files() const {
    const std::filesystem::directory_iterator all(directory_);
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }
  void Put(const std::string& contents) const {
    std::ofstream(path_, std::ios::binary) << contents;
  }

  std::string directory_;
  std::string path_;
};

TEST_F(JsonFileTest, ReadsWhatItWrote) {
  Json value;
  value["schema"] = 1;
  value["drops"]["tx_full"] = uint64_t{18446744073709551615u};
  value["name"] = "net_xsk0";
  ASSERT_TRUE(WriteJsonFile(path_, value).ok());
  ASSERT_TRUE(WriteJsonFile(path_, value).ok());
  EXPECT_EQ(ReadJsonFile(path_).value(), value);
  EXPECT_EQ(Files(), 1u);
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644u);
  std::ifstream in(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), FormatJson(value));
}

TEST_F(JsonFileTest, AFailureLeavesNothing) {
  EXPECT_FALSE(WriteJsonFile(directory_, Json(1)).ok());
  EXPECT_FALSE(WriteJsonFile(directory_ + "/none/report.json", Json(1)).ok());
  EXPECT_EQ(Files(), 0u);
}

TEST_F(JsonFileTest, RefusesWhatIsNotJson) {
  struct Row {
    std::string contents;
    std::string message;  // part of it
  };
  const Row kRows[] = {
      {"", ": parse error at line 1, column 1"},
      {"{\"a\": 1,\n  b}", ": parse error at line 2, column 3"},
      {"{} {}", ": parse error at line 1, column 4"},
      {"[1e999]", ": number overflow"},
      {"\"\xff\"", ": parse error"},
      {std::string(1, '\0'), ": parse error"},
      {std::string(65, '[') + std::string(65, ']'), ": nested deeper than the 64 levels accepted"},
      {std::string(1'000'000, '[') + std::string(1'000'000, ']'), ": nested deeper"},
      {std::string(1'000'000, '['), ": parse error"},
      {std::string(kMaxJsonFileBytes + 1, ' '), ": longer than the 16777216 bytes accepted"},
  };
  for (const Row& row : kRows) {
    Put(row.contents);
    const absl::Status status = ReadJsonFile(path_).status();
    EXPECT_FALSE(status.ok()) << row.message;
    EXPECT_TRUE(absl::StartsWith(status.message(), path_ + row.message)) << status;
  }
  EXPECT_EQ(ReadJsonFile(directory_ + "/none").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(JsonFileTest, AcceptsTheDeepestAllowed) {
  Put(std::string(64, '[') + std::string(64, ']'));
  EXPECT_TRUE(ReadJsonFile(path_).ok());
}

}  // namespace
}  // namespace penstock
