// Single calls of a library that would take longer than an interrupt may wait.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "qksolve/numerics/interrupt.hpp"

namespace qksolve::numerics {

// Calls work(first, count) for the columns of a product of matrices rows x depth and depth x columns, in
// blocks that take a tenth of a second or so: one block where the product is small. The product of a block is
// that block of the whole product to the bit, because blocks end where the kernel's do and none is a single
// column. Throws Interrupted.
template <class Work>
void for_column_blocks(Eigen::Index rows, Eigen::Index depth, Eigen::Index columns,
                       const Interrupt& interrupted, const Work& work) {
  constexpr double operations = 4e9;
  constexpr Eigen::Index kernel = 8;
  const double of_column = 2.0 * static_cast<double>(rows) * static_cast<double>(depth);
  const auto fits = static_cast<Eigen::Index>(std::min(operations / std::max(of_column, 1.0), 1e9));
  const Eigen::Index width = std::max<Eigen::Index>(fits / kernel, 1) * kernel;
  for (Eigen::Index first = 0; first < columns;) {
    throw_if(interrupted);
    const Eigen::Index count = columns - first < 2 * width ? columns - first : width;
    work(first, count);
    first += count;
  }
}

// left * right, by blocks of columns.
template <class Left, class Right>
Eigen::MatrixXd product(const Left& left, const Right& right, const Interrupt& interrupted) {
  Eigen::MatrixXd result(left.rows(), right.cols());
  for_column_blocks(left.rows(), left.cols(), right.cols(), interrupted,
                    [&](Eigen::Index first, Eigen::Index count) {
                      result.middleCols(first, count).noalias() = left * right.middleCols(first, count);
                    });
  return result;
}

// The result of `call`, which cannot be split: on a thread of its own, which is left behind, to end with the
// process, where `interrupted` turns true; then throws Interrupted. `call` must own all that it reads.
template <class Call>
auto abandon_if(const Interrupt& interrupted, Call call) -> decltype(call()) {
  if (!interrupted) return call();
  std::packaged_task<decltype(call())()> task(std::move(call));
  auto result = task.get_future();
  std::thread thread(std::move(task));
  while (result.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready)
    if (interrupted()) {
      thread.detach();
      throw Interrupted();
    }
  thread.join();
  return result.get();
}

}  // namespace qksolve::numerics
