// Independent streams of Gaussian deviates for everything random here.
#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "qksolve/numerics/interrupt.hpp"
#include "qksolve/numerics/random_normals.hpp"

namespace qksolve::coupled {

enum class Purpose : std::uint64_t {
  first_weights = 1,
  second_weights,
  linear_weights,
  queries,
  keys,
  reference_queries,
  reference_keys,
  probes
};

numerics::RandomStream random_stream(std::uint64_t seed, std::uint64_t instance, Purpose purpose);

// N(0, 1) entries. Row i is the same for any number of rows, and begins alike for any number of columns.
// Throws numerics::Interrupted.
Eigen::MatrixXd draw_normals(const numerics::RandomStream& stream, Eigen::Index rows, Eigen::Index columns,
                             const numerics::Interrupt& interrupted = {});

}  // namespace qksolve::coupled
