// SPDX-License-Identifier: BSD-3-Clause
//
// What DPDK, libbpf and libxdp say, and when it is shown. Any thread.
//
// Their lines go through the log sink: errors and warnings as such, the rest as debug, and so the
// errors of what a driver is known to do well without. While a
// DpdkLogCapture lives they are kept instead, until it is known what they were worth: drivers speak
// while they try one way after the other, and the function that failed only returns a number.
//
//   DpdkLogCapture said;
//   const int error = rte_eth_dev_start(port);
//   if (error != 0) return Explain(error, said.Failed());  // Kept lines are debug now.
//   // Else they are logged when `said` ends.

#ifndef PENSTOCK_LIB_PORT_DPDK_LOG_H_
#define PENSTOCK_LIB_PORT_DPDK_LOG_H_

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace penstock {

// Before rte_eal_init; once more changes nothing.
absl::Status RedirectDpdkLog();

// Nested ones are fine, ended in the reverse order: an inner one that did not fail leaves its lines
// to the outer one.
class DpdkLogCapture {
 public:
  DpdkLogCapture();
  ~DpdkLogCapture();
  DpdkLogCapture(const DpdkLogCapture&) = delete;
  DpdkLogCapture& operator=(const DpdkLogCapture&) = delete;

  // The lines so far that may be a cause.
  std::vector<std::string> Causes() const;

  // What was done in its scope failed. Every line of it is logged as debug; those that may be a
  // cause (errors, and what libbpf warns of) are returned, oldest first.
  std::vector<std::string> Failed();

 private:
  const size_t from_;
};

// While it lives, standard output and error go into a file in memory, and are debug lines
// afterwards: EAL answers a wrong argument with pages of usage there, past its own log. One at a
// time.
class CapturedOutput {
 public:
  CapturedOutput();
  ~CapturedOutput();
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

 private:
  const int file_;
  std::array<int, 2> saved_ = {-1, -1};
};

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_DPDK_LOG_H_
