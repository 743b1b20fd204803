// SPDX-License-Identifier: BSD-3-Clause
//
// Where the versions of DPDK that penstock builds on differ, from 22.11 on. The rest of the code
// says what it means by these names.

#ifndef PENSTOCK_LIB_PORT_DPDK_COMPAT_H_
#define PENSTOCK_LIB_PORT_DPDK_COMPAT_H_

#include <rte_security.h>
#include <rte_version.h>

namespace penstock {

// What rte_eth_dev_get_sec_ctx returns and rte_security_capabilities_get takes: 23.11 made it
// opaque.
#if RTE_VERSION < RTE_VERSION_NUM(23, 11, 0, 0)
using SecurityContext = rte_security_ctx;
#else
using SecurityContext = void;
#endif

}  // namespace penstock

#endif  // PENSTOCK_LIB_PORT_DPDK_COMPAT_H_
