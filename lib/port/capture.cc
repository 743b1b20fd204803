// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/capture.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_pdump.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "lib/base/status.h"

namespace penstock {
namespace {

bool offered = false;  // EAL and pdump are once per process as well.

}  // namespace

absl::Status OfferCapture() {
  std::error_code error;
  // Where EAL's configuration is no file, no other process can join.
  const bool shared =
      std::filesystem::exists(absl::StrCat(rte_eal_get_runtime_dir(), "/config"), error);
  if (rte_eal_has_hugepages() == 0 || !shared) return absl::OkStatus();
  if (rte_pdump_init() != 0) return ErrnoStatus(rte_errno, "rte_pdump_init");
  offered = true;
  return absl::OkStatus();
}

void EndCapture() {
  if (offered) rte_pdump_uninit();
  offered = false;
}

}  // namespace penstock
