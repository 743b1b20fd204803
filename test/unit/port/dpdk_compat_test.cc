// SPDX-License-Identifier: BSD-3-Clause
#include "lib/port/dpdk_compat.h"

#include <rte_ethdev.h>

#include <type_traits>

namespace penstock {
namespace {

// What this DPDK's own functions say: a wrong guess does not compile.
static_assert(std::is_same_v<decltype(rte_eth_dev_get_sec_ctx(0)), void*>);
static_assert(std::is_invocable_v<decltype(rte_security_capabilities_get), SecurityContext*>);

}  // namespace
}  // namespace penstock
