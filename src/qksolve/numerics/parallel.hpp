// A loop shared by threads that sleep, rather than spin, while they wait: on a busy machine a spinning thread
// takes the core that the work it waits for would need.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace qksolve::numerics {

// Calls worker(i) for i = 0 .. count - 1, in blocks of `block`, on `threads` threads, each with a worker of
// its own from make_worker(). Which thread takes which block is not determined: workers write only to places
// that belong to i. Workers must not throw.
template <class MakeWorker>
void parallel_for(std::ptrdiff_t count, int threads, std::ptrdiff_t block, const MakeWorker& make_worker) {
  std::atomic<std::ptrdiff_t> next{0};
  auto run = [&] {
    auto worker = make_worker();
    for (std::ptrdiff_t first = next.fetch_add(block); first < count; first = next.fetch_add(block))
      for (std::ptrdiff_t i = first; i < count && i < first + block; ++i) worker(i);
  };
  std::vector<std::jthread> others;
  for (int k = 1; k < threads; ++k) others.emplace_back(run);
  run();
}

}  // namespace qksolve::numerics
