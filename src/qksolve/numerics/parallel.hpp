// A loop shared by threads that sleep, rather than spin, while they wait: on a busy machine a spinning thread
// takes the core that the work it waits for would need.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "qksolve/numerics/interrupt.hpp"

namespace qksolve::numerics {

// Calls worker(i) for i = 0 .. count - 1, in blocks of `block`, on `threads` threads, each with a worker of
// its own from make_worker(). Blocks are begun in order; which thread takes which is not determined: workers
// write only to places that belong to i. After the first exception of a worker, or of make_worker, no further
// block is begun; it is thrown again when all threads have stopped. Throws Interrupted where `interrupted`
// turns true before all is begun.
template <class MakeWorker>
void parallel_for(std::ptrdiff_t count, int threads, std::ptrdiff_t block, const MakeWorker& make_worker,
                  const Interrupt& interrupted = {}) {
  std::atomic<std::ptrdiff_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  auto run = [&] {
    try {
      auto worker = make_worker();
      for (std::ptrdiff_t first = next.fetch_add(block); first < count; first = next.fetch_add(block)) {
        throw_if(interrupted);
        for (std::ptrdiff_t i = first; i < count && i < first + block; ++i) worker(i);
      }
    } catch (...) {
      next = count;
      const std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int k = 1; k < threads; ++k) others.emplace_back(run);
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace qksolve::numerics
