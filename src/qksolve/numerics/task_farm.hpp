// Independent tasks on several threads, or on several MPI ranks.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "qksolve/numerics/interrupt.hpp"

namespace qksolve::numerics {

// Computes task number i; what it found, as text that is not empty. May throw. Called from several threads at
// once.
using Task = std::function<std::string(std::size_t i)>;

// Receives what a task found: one call at a time, in the order in which tasks finish.
using TaskDone = std::function<void(std::size_t i, const std::string& found)>;

// Runs the tasks with these numbers, in this order as threads become free. Once `interrupted` returns true no
// task is begun, and those that are under way are not reported. The first exception of a task or of `done`
// ends the run and is thrown again; Interrupted where the interrupt left a task undone.
void run_tasks(const std::vector<std::size_t>& tasks, int threads, const Task& task, const TaskDone& done,
               const Interrupt& interrupted);

// The processes that mpirun started together; one alone without mpirun.
class Ranks {
 public:
  // Starts MPI where mpirun is there to want it. Throws std::runtime_error if the program was built without.
  Ranks();
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // As run_tasks, with the tasks of rank 0 spread over `threads` threads of every rank. To be called on all
  // ranks; `tasks` and `done` matter on rank 0 only, and only it throws what a task threw elsewhere.
  void run(const std::vector<std::size_t>& tasks, int threads, const Task& task, const TaskDone& done,
           const Interrupt& interrupted);

 private:
  int rank_ = 0, size_ = 1;
  bool started_ = false;
};

// The rank that mpirun gave this process, known before MPI is started; 0 without mpirun.
int launched_rank();

}  // namespace qksolve::numerics
