// SPDX-License-Identifier: BSD-3-Clause
//
// What eal_main.h promises to a test executable. Runs on the main lcore, once on each worker.

#include "test/support/eal_main.h"

#include <gtest/gtest.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <string>
#include <vector>

std::vector<std::string> penstock::TestEalArguments() { return {"--vdev=net_null7"}; }

namespace penstock {
namespace {

TEST(EalMain, EachWorkerLcoreRunsWhatItIsGiven) {
  ASSERT_EQ(rte_lcore_count(), kTestLcores);
  EXPECT_EQ(rte_lcore_id(), 0U);
  for (unsigned lcore = 1; lcore < kTestLcores; ++lcore) {
    ASSERT_EQ(rte_eal_remote_launch([](void*) { return static_cast<int>(rte_lcore_id()); }, nullptr,
                                    lcore),
              0);
  }
  for (unsigned lcore = 1; lcore < kTestLcores; ++lcore) {
    EXPECT_EQ(rte_eal_wait_lcore(lcore), static_cast<int>(lcore));
  }
}

TEST(EalMain, TheVdevThatThisExecutableAsksForIsThere) {
  uint16_t port = RTE_MAX_ETHPORTS;
  ASSERT_EQ(rte_eth_dev_get_port_by_name("net_null7", &port), 0);
  EXPECT_EQ(rte_eth_dev_count_avail(), 1);
}

TEST(EalMain, MemoryHoldsThePoolsThatTheHeaderStates) {
  rte_mempool* pools[6] = {};
  for (int i = 0; i < 6; ++i) {
    pools[i] = rte_pktmbuf_pool_create(("selftest" + std::to_string(i)).c_str(), 8192, 0, 0,
                                       RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    EXPECT_NE(pools[i], nullptr) << i;
  }
  for (rte_mempool* pool : pools) rte_mempool_free(pool);
}

TEST(EalMain, FilePrefixIsThisProcessOwn) {
  EXPECT_NE(std::string(rte_eal_get_runtime_dir()).find(std::to_string(getpid())),
            std::string::npos);
}

}  // namespace
}  // namespace penstock
