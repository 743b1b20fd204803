// SPDX-License-Identifier: BSD-3-Clause
//
// Counter pages: one writer, several readers. Runs under TSan. The concurrent tests end by counts
// of what was seen, never by time.

#include "lib/stats/counter_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace penstock {
namespace {

using Values = std::vector<uint64_t>;

// For a writer that will answer: far longer than any test may take.
constexpr uint64_t kForeverNs = 3'600'000'000'000;
// For a writer that will not.
constexpr uint64_t kNoPatience = 0;

// A page whose counters all have one value where the books balance, and do not in between. Many
// counters, so that copying them takes long enough to be met half way.
class Books {
 public:
  static constexpr size_t kCounters = 2048;

  CounterPage& page() { return page_; }

  // One iteration of a writer.
  void Iterate() {
    for (uint64_t& counter : page_.local()) ++counter;
    page_.Answer();
  }

  // The one value of a copy; a failure of the test if it has several.
  static uint64_t ValueOf(const CounterPage::Copy& copy) {
    EXPECT_EQ(copy.values.size(), kCounters);
    const auto [low, high] = std::minmax_element(copy.values.begin(), copy.values.end());
    EXPECT_EQ(*low, *high) << "a torn copy";
    return *low;
  }

 private:
  CounterPage page_{kCounters};
};

TEST(CounterPageTest, CountersBeginAtZero) {
  CounterPage page(3);
  EXPECT_EQ(page.local().size(), 3u);
  const CounterPage::Copy copy = page.Read();
  EXPECT_EQ(copy.values, Values({0, 0, 0}));
  EXPECT_TRUE(copy.fresh);
}

TEST(CounterPageTest, APageWithoutCounters) {
  CounterPage page(0);
  EXPECT_TRUE(page.Read().values.empty());
  page.Start();
  EXPECT_FALSE(page.Read(kNoPatience).fresh);
  page.Answer();
  EXPECT_TRUE(page.Read(kNoPatience).values.empty());
}

TEST(CounterPageTest, AWriterThatStoppedIsReadDirectly) {
  CounterPage page(2);
  page.Start();
  page.local()[0] = 7;
  page.local()[1] = ~uint64_t{0};
  page.Stop();
  // Without an answer, and without patience.
  const CounterPage::Copy copy = page.Read(kNoPatience);
  EXPECT_TRUE(copy.fresh);
  EXPECT_EQ(copy.values, Values({7, ~uint64_t{0}}));
}

TEST(CounterPageTest, ACopyIsTheReadersOwn) {
  CounterPage page(1);
  page.local()[0] = 1;
  CounterPage::Copy copy = page.Read();
  page.local()[0] = 2;
  EXPECT_EQ(copy.values, Values({1}));
  copy.values[0] = 100;
  EXPECT_EQ(page.Read().values, Values({2}));
}

// What happened, in this order, and what a reader without patience then gets.
struct Step {
  enum class What { kCount, kAnswer, kRead, kStop, kStart };
  What what;
  uint64_t expected = 0;  // of kRead
  bool fresh = false;     // of kRead
};

TEST(CounterPageTest, AReaderFallsBackOnTheLastAnswer) {
  constexpr auto kCount = Step::What::kCount;
  constexpr auto kAnswer = Step::What::kAnswer;
  constexpr auto kRead = Step::What::kRead;
  constexpr auto kStop = Step::What::kStop;
  constexpr auto kStart = Step::What::kStart;
  struct {
    const char* name;
    std::vector<Step> steps;
  } const kRows[] = {
      {"a writer that never answered", {{kStart}, {kCount}, {kRead, 0}, {kCount}, {kRead, 0}}},
      {"an answer to nobody publishes nothing", {{kStart}, {kCount}, {kAnswer}, {kRead, 0}}},
      {"an answer that came late",
       {{kStart}, {kCount}, {kRead, 0}, {kCount}, {kAnswer}, {kCount}, {kRead, 2}, {kRead, 2}}},
      {"an answer is given once for a request",
       {{kStart}, {kRead, 0}, {kCount}, {kAnswer}, {kCount}, {kAnswer}, {kRead, 1}}},
      {"many late answers, both copies in turn",
       {{kStart},
        {kRead, 0},
        {kCount},
        {kAnswer},
        {kRead, 1},
        {kCount},
        {kAnswer},
        {kRead, 2},
        {kRead, 2},
        {kCount},
        {kCount},
        {kRead, 2},
        {kAnswer},
        {kRead, 4},
        {kCount},
        {kAnswer},
        {kRead, 5}}},
      {"an unanswered request, then a stop",
       {{kStart}, {kCount}, {kRead, 0}, {kStop}, {kRead, 1, true}}},
      {"a start with a request still open",
       {{kStart}, {kRead, 0}, {kStop}, {kStart}, {kCount}, {kAnswer}, {kRead, 1}}},
      {"counts never run backwards over a start",
       {{kStart},
        {kCount},
        {kCount},
        {kStop},
        {kRead, 2, true},
        {kStart},
        {kRead, 2},
        {kCount},
        {kRead, 2},
        {kAnswer},
        {kRead, 3}}},
      {"nor over a start that nobody read before",
       {{kStart}, {kRead, 0}, {kCount}, {kAnswer}, {kCount}, {kStop}, {kStart}, {kRead, 2}}},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.name);
    CounterPage page(2);
    size_t at = 0;
    for (const Step& step : row.steps) {
      SCOPED_TRACE(at++);
      switch (step.what) {
        case kCount:
          page.local()[0] += 1;
          page.local()[1] += 10;
          break;
        case kAnswer:
          page.Answer();
          break;
        case kStop:
          page.Stop();
          break;
        case kStart:
          page.Start();
          break;
        case kRead: {
          const CounterPage::Copy copy = page.Read(kNoPatience);
          EXPECT_EQ(copy.values, Values({step.expected, 10 * step.expected}));
          EXPECT_EQ(copy.fresh, step.fresh);
          break;
        }
      }
    }
  }
}

TEST(CounterPageTest, TheDefaultPatienceEnds) {
  CounterPage page(1);
  page.Start();
  page.local()[0] = 5;
  const CounterPage::Copy copy = page.Read();
  EXPECT_FALSE(copy.fresh);
  EXPECT_EQ(copy.values, Values({0}));
}

TEST(CounterPageTest, APatientReaderGetsAllThatWasCountedBeforeItAsked) {
  Books books;
  std::atomic<uint64_t> done{0};
  std::atomic<bool> stop{false};
  books.page().Start();
  std::thread writer([&] {
    while (!stop.load()) {
      books.Iterate();
      done.fetch_add(1);
    }
    books.page().Stop();
  });
  uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t before = done.load();
    const CounterPage::Copy copy = books.page().Read(kForeverNs);
    EXPECT_TRUE(copy.fresh);
    const uint64_t value = Books::ValueOf(copy);
    EXPECT_GE(value, before);
    EXPECT_GE(value, last);
    last = value;
  }
  stop.store(true);
  writer.join();
  const CounterPage::Copy copy = books.page().Read(kNoPatience);
  EXPECT_TRUE(copy.fresh);
  EXPECT_EQ(Books::ValueOf(copy), done.load());
}

TEST(CounterPageTest, ALateAnswerNeverTearsTheCopyThatAnImpatientReaderFallsBackOn) {
  Books books;
  std::atomic<bool> stop{false};
  books.page().Start();
  std::thread writer([&] {
    while (!stop.load(std::memory_order_relaxed)) books.Iterate();
    books.page().Stop();
  });
  // Reading while the writer is in the middle of the answer to the request before is the rule here:
  // copies go on until many were old and many values were seen.
  uint64_t last = 0;
  int old = 0;
  int advanced = 0;
  for (int i = 0; i < 1'000'000 && (old < 2000 || advanced < 100); ++i) {
    const CounterPage::Copy copy = books.page().Read(kNoPatience);
    const uint64_t value = Books::ValueOf(copy);
    EXPECT_GE(value, last);
    old += copy.fresh ? 0 : 1;
    advanced += value > last ? 1 : 0;
    last = value;
    if (HasFailure()) break;
    // Two threads may share a processor: let the writer come to its answer.
    if (old % 16 == 0) std::this_thread::yield();
  }
  stop.store(true);
  writer.join();
  EXPECT_GE(old, 2000);
  EXPECT_GE(advanced, 100);
}

TEST(CounterPageTest, ReadersOfEveryPatienceWhileTheWriterComesAndGoes) {
  Books books;
  std::atomic<bool> stop{false};
  constexpr int kLives = 40;
  std::atomic<int> reads{0};

  const auto read_until_stopped = [&](uint64_t patience_ns) {
    uint64_t last = 0;
    while (!stop.load()) {
      const CounterPage::Copy copy = books.page().Read(patience_ns);
      const uint64_t value = Books::ValueOf(copy);
      EXPECT_GE(value, last);
      last = value;
      reads.fetch_add(1);
      if (testing::Test::HasFailure()) return;
      std::this_thread::yield();
    }
  };
  std::vector<std::thread> readers;
  readers.emplace_back(read_until_stopped, kNoPatience);
  readers.emplace_back(read_until_stopped, 20'000);
  readers.emplace_back(read_until_stopped, kForeverNs);

  uint64_t iterations = 0;
  for (int life = 0; life < kLives; ++life) {
    const int reads_before = reads.load();
    books.page().Start();
    std::thread writer([&] {
      // Every life serves readers.
      uint64_t n = 0;
      while ((reads.load() < reads_before + 30 || n < 3) && !testing::Test::HasFailure()) {
        books.Iterate();
        ++n;
        std::this_thread::yield();
      }
      iterations += n;
      books.page().Stop();
    });
    writer.join();
  }
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  const CounterPage::Copy copy = books.page().Read(kNoPatience);
  EXPECT_TRUE(copy.fresh);
  EXPECT_EQ(Books::ValueOf(copy), iterations);
}

// Counters that differ but obey a law, as an lcore's do: received = sent + dropped + held.
TEST(CounterPageTest, ASnapshotIsConsistentAsAWhole) {
  enum : size_t { kRx, kTx, kDropped, kHeld, kCounters };
  CounterPage page(kCounters);
  std::atomic<bool> stop{false};
  page.Start();
  std::thread writer([&] {
    uint64_t random = 1;
    while (!stop.load(std::memory_order_relaxed)) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const uint64_t received = random >> 60;
      const uint64_t released = page.local()[kHeld] > 20 ? page.local()[kHeld] : 0;
      page.local()[kRx] += received;
      page.local()[kHeld] += received / 2;
      page.local()[kDropped] += received % 2;
      page.local()[kTx] += received - received / 2 - received % 2;
      page.local()[kTx] += released;
      page.local()[kHeld] -= released;
      page.Answer();
    }
    page.Stop();
  });
  uint64_t last_rx = 0;
  int advanced = 0;
  while (advanced < 100 && !HasFailure()) {
    const Values v = page.Read(kForeverNs).values;
    EXPECT_EQ(v[kRx], v[kTx] + v[kDropped] + v[kHeld]);
    advanced += v[kRx] > last_rx ? 1 : 0;
    last_rx = v[kRx];
  }
  stop.store(true);
  writer.join();
}

TEST(CounterPageTest, TwoPagesShareNoCacheLine) {
  EXPECT_EQ(alignof(CounterPage) % kCacheLineBytes, 0u);
  EXPECT_EQ(sizeof(CounterPage) % kCacheLineBytes, 0u);
}

}  // namespace
}  // namespace penstock
