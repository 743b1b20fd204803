// SPDX-License-Identifier: BSD-3-Clause
#include "test/unit/pipeline/allocations.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace penstock {
namespace {

thread_local bool watched_thread = false;
std::atomic<uint64_t> allocations{0};

}  // namespace

void AllocationsOf::ThisThread(bool watched) noexcept { watched_thread = watched; }
uint64_t AllocationsOf::Count() noexcept { return allocations.load(); }
void AllocationsOf::Forget() noexcept { allocations.store(0); }

}  // namespace penstock

#if !defined(PENSTOCK_TEST_SANITIZED)

// The C library's own, under the names that it keeps for this purpose.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* memory);

static void Note() {
  if (penstock::watched_thread) penstock::allocations.fetch_add(1, std::memory_order_relaxed);
}

void* malloc(size_t bytes) {
  Note();
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  Note();
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  Note();
  return __libc_realloc(old, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  Note();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  Note();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** result, size_t alignment, size_t bytes) {
  Note();
  *result = __libc_memalign(alignment, bytes);
  return *result == nullptr ? ENOMEM : 0;
}
// A free takes the same locks.
void free(void* memory) {
  if (memory != nullptr) Note();
  __libc_free(memory);
}
}

#endif  // !PENSTOCK_TEST_SANITIZED
