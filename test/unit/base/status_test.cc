// SPDX-License-Identifier: BSD-3-Clause
//
// The status helpers.

#include "lib/base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/cord.h"

namespace penstock {
namespace {

TEST(StatusTest, ErrnoStatusMapsErrnoAndNamesTheCall) {
  struct Row {
    int err;
    absl::StatusCode code;
    std::string message;
  };
  const Row kRows[] = {
      {ENOENT, absl::StatusCode::kNotFound, "open(/x): No such file or directory"},
      {-ENOENT, absl::StatusCode::kNotFound, "open(/x): No such file or directory"},
      {EINVAL, absl::StatusCode::kInvalidArgument, "open(/x): Invalid argument"},
      {EBUSY, absl::StatusCode::kFailedPrecondition, "open(/x): Device or resource busy"},
      {-EPERM, absl::StatusCode::kPermissionDenied, "open(/x): Operation not permitted"},
      {0, absl::StatusCode::kInternal, "open(/x): failed without an error number"},
      {INT_MIN, absl::StatusCode::kInternal, "open(/x): failed without an error number"},
  };
  for (const Row& row : kRows) {
    const absl::Status status = ErrnoStatus(row.err, "open(/x)");
    EXPECT_EQ(status.code(), row.code) << row.err;
    EXPECT_EQ(status.message(), row.message) << row.err;
  }
}

TEST(StatusTest, WithContextPrefixesErrorsAndKeepsTheRest) {
  absl::Status inner = absl::NotFoundError("no such port");
  inner.SetPayload("penstock/port", absl::Cord("7"));
  const absl::Status outer = WithContext(inner, "--portmask");
  EXPECT_EQ(outer.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(outer.message(), "--portmask: no such port");
  ASSERT_TRUE(outer.GetPayload("penstock/port").has_value());
  EXPECT_EQ(*outer.GetPayload("penstock/port"), "7");
  EXPECT_TRUE(WithContext(absl::OkStatus(), "--portmask").ok());
}

absl::Status ReturnIfError(absl::Status status, int& evaluations, bool& passed) {
  PENSTOCK_RETURN_IF_ERROR((++evaluations, status));
  passed = true;
  return absl::OkStatus();
}

TEST(StatusTest, ReturnIfErrorReturnsErrorsOnly) {
  int evaluations = 0;
  bool passed = false;
  EXPECT_EQ(ReturnIfError(absl::AbortedError("x"), evaluations, passed), absl::AbortedError("x"));
  EXPECT_FALSE(passed);
  EXPECT_TRUE(ReturnIfError(absl::OkStatus(), evaluations, passed).ok());
  EXPECT_TRUE(passed);
  EXPECT_EQ(evaluations, 2);
}

// A value that can only be moved, and a template argument list with a comma.
using Pair = std::pair<std::unique_ptr<int>, int>;
absl::StatusOr<Pair> MakePair(absl::Status status) {
  if (!status.ok()) return status;
  return Pair{std::make_unique<int>(40), 2};
}

absl::StatusOr<int> AssignOrReturn(absl::Status first, absl::Status second) {
  PENSTOCK_ASSIGN_OR_RETURN(const Pair pair, MakePair(first));
  int result = 0;
  PENSTOCK_ASSIGN_OR_RETURN(
      result, second.ok()
                  ? absl::StatusOr<int>(*pair.first + std::pair<int, int>(0, pair.second).second)
                  : absl::StatusOr<int>(second));
  return result;
}

TEST(StatusTest, AssignOrReturnMovesTheValueOrReturnsTheError) {
  const absl::Status error = absl::DataLossError("x");
  EXPECT_EQ(AssignOrReturn(absl::OkStatus(), absl::OkStatus()).value(), 42);
  EXPECT_EQ(AssignOrReturn(error, absl::OkStatus()).status(), error);
  EXPECT_EQ(AssignOrReturn(absl::OkStatus(), error).status(), error);
}

}  // namespace
}  // namespace penstock
