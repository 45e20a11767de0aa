// Matrix products that are the same for any number of threads.
#pragma once

#include <Eigen/Core>

namespace qksolve::numerics {

// Eigen blocks its products differently for every number of threads, which changes their rounding; while an
// object of this class lives they run in one.
class OneThread {
 public:
  OneThread() : before_(Eigen::nbThreads()) { Eigen::setNbThreads(1); }
  ~OneThread() { Eigen::setNbThreads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace qksolve::numerics
