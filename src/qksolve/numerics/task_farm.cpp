#include "qksolve/numerics/task_farm.hpp"

#include <cstdlib>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "qksolve/numerics/parallel.hpp"

#ifdef QKSOLVE_MPI
#include <mpi.h>

#include <chrono>
#endif

namespace qksolve::numerics {

void run_tasks(const std::vector<std::size_t>& tasks, int threads, const Task& task, const TaskDone& done,
               const Interrupt& interrupted) {
  std::mutex mutex;
  bool broken = false;  // `done` has thrown: it is not called again
  parallel_for(
      std::ssize(tasks), threads, 1,
      [&] {
        return [&](std::ptrdiff_t k) {
          const std::size_t i = tasks[static_cast<std::size_t>(k)];
          const std::string found = task(i);
          const std::scoped_lock lock(mutex);
          throw_if(interrupted);
          if (std::exchange(broken, true)) return;
          done(i, found);
          broken = false;
        };
      },
      interrupted);
}

namespace {

// What the launchers tell the processes they start: Open MPI, and those that speak PMI or PMIx (MPICH,
// Slurm).
constexpr const char* kRankNames[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
constexpr const char* kSizeNames[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

template <std::size_t n>
int from_environment(const char* const (&names)[n], int otherwise) {
  for (const char* name : names)
    if (const char* text = std::getenv(name)) return std::atoi(text);
  return otherwise;
}

int launched_size() { return from_environment(kSizeNames, 1); }

}  // namespace

int launched_rank() { return from_environment(kRankNames, 0); }

#ifdef QKSOLVE_MPI

namespace {

enum Tag { kAsk = 1, kGive, kFound, kFailed };  // messages: to rank 0, from it, to it, to it

std::string receive_text(const MPI_Status& status) {
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  std::string text(static_cast<std::size_t>(size), '\0');
  MPI_Recv(text.data(), size, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return text;
}

void send_text(const std::string& text, int rank, Tag tag) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, rank, tag, MPI_COMM_WORLD);
}

}  // namespace

Ranks::Ranks() {
  if (launched_size() == 1) return;
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  started_ = true;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

Ranks::~Ranks() {
  if (started_) MPI_Finalize();
}

// Every rank's threads take tasks from a list that its main thread, the only one that calls MPI, keeps
// filled: rank 0 from the whole list, the others by asking rank 0.
void Ranks::run(const std::vector<std::size_t>& tasks, int threads, const Task& task, const TaskDone& done,
                const Interrupt& interrupted) {
  if (size_ == 1) return run_tasks(tasks, threads, task, done, interrupted);

  struct Finished {
    std::size_t i;
    std::string text;
    bool failed;
  };
  std::mutex mutex;
  std::vector<std::size_t> given;
  std::vector<Finished> finished;
  int waiting = 0;  // threads without a task
  bool over = false;
  auto work = [&] {
    for (bool idle = false;;) {
      std::unique_lock lock(mutex);
      if (over) return;
      if (given.empty()) {
        if (!idle) ++waiting;
        idle = true;
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      if (idle) --waiting;
      idle = false;
      const std::size_t i = given.back();
      given.pop_back();
      lock.unlock();
      Finished one{i, {}, false};
      try {
        one.text = task(i);
        if (interrupted && interrupted()) one.text.clear();
      } catch (const Interrupted&) {  // nothing was found
      } catch (const std::exception& error) {
        one.text = error.what();
        one.failed = true;
      }
      lock.lock();
      finished.push_back(std::move(one));
    }
  };
  std::vector<std::jthread> workers;
  workers.reserve(static_cast<std::size_t>(threads));
  for (int k = 0; k < threads; ++k) workers.emplace_back(work);
  auto stop_workers = [&] {
    {
      const std::scoped_lock lock(mutex);
      over = true;
    }
    workers.clear();
  };
  auto take_finished = [&] {
    const std::scoped_lock lock(mutex);
    return std::exchange(finished, {});
  };
  // How many tasks this rank's threads could begin now.
  auto room = [&] {
    const std::scoped_lock lock(mutex);
    return waiting - static_cast<int>(given.size());
  };
  auto give = [&](std::size_t i) {
    const std::scoped_lock lock(mutex);
    given.push_back(i);
  };
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };

  if (rank_ != 0) {
    bool asked = false, last = false;
    std::size_t under_way = 0;
    while (!last || under_way > 0) {
      for (const Finished& one : take_finished()) {
        send_text(std::to_string(one.i) + " " + one.text, 0, one.failed ? kFailed : kFound);
        --under_way;
      }
      if (!asked && !last && room() > 0) {
        send_text("", 0, kAsk);
        asked = true;
      }
      int there = 0;
      MPI_Status status;
      MPI_Iprobe(0, kGive, MPI_COMM_WORLD, &there, &status);
      if (there != 0) {
        const std::string text = receive_text(status);
        asked = false;
        last = text.empty();
        if (!last) {
          give(std::stoull(text));
          ++under_way;
        }
      } else {
        pause();
      }
    }
    stop_workers();
    return;
  }

  std::size_t next = 0, under_way = 0;
  int others = size_ - 1;  // ranks that have not yet been told that there is nothing left
  std::exception_ptr failure;
  auto stopping = [&] { return next == tasks.size() || failure || (interrupted && interrupted()); };
  auto report = [&](std::size_t i, const std::string& text, bool failed) {
    --under_way;
    if (failure || text.empty() || (interrupted && interrupted())) return;
    try {
      if (failed) throw std::runtime_error(text);
      done(i, text);
    } catch (...) {
      failure = std::current_exception();
    }
  };
  while (!stopping() || under_way > 0 || others > 0) {
    for (const Finished& one : take_finished()) report(one.i, one.text, one.failed);
    if (!stopping() && room() > 0) {
      give(tasks[next++]);
      ++under_way;
    }
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
    if (there == 0) {
      pause();
      continue;
    }
    const std::string text = receive_text(status);
    if (status.MPI_TAG == kAsk) {
      const bool nothing_left = stopping();
      send_text(nothing_left ? "" : std::to_string(tasks[next]), status.MPI_SOURCE, kGive);
      if (nothing_left) {
        --others;
      } else {
        ++next;
        ++under_way;
      }
    } else {
      const std::size_t blank = text.find(' ');
      report(std::stoull(text), text.substr(blank + 1), status.MPI_TAG == kFailed);
    }
  }
  stop_workers();
  if (failure) std::rethrow_exception(failure);
  throw_if(interrupted);
}

#else

Ranks::Ranks() {
  if (launched_size() > 1) throw std::runtime_error("started by mpirun, but built without MPI");
}

Ranks::~Ranks() = default;

void Ranks::run(const std::vector<std::size_t>& tasks, int threads, const Task& task, const TaskDone& done,
                const Interrupt& interrupted) {
  run_tasks(tasks, threads, task, done, interrupted);
}

#endif

}  // namespace qksolve::numerics
