#include "qksolve/phase/model.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace qksolve::phase {
namespace {

void require(bool holds, const std::string& message) {
  if (!holds) throw std::invalid_argument(message);
}

}  // namespace

void Model::validate() const {
  require(tokens >= 2, "tokens must be at least 2");
  require(rank >= 1, "rank must be at least 1");
  require(teacher_rank >= 1, "teacher rank must be at least 1");
  require(sigma.size() == tokens, "sigma must hold one value per token");
  require((sigma.array() > 0).all() && sigma.allFinite(), "sigma must be positive");
  require(lambda > 0 && std::isfinite(lambda), "lambda must be positive");
  require(omega >= 0 && omega <= 1, "omega must lie in [0, 1]");
  require(teacher_matrix.rows() == tokens && teacher_matrix.cols() == tokens,
          "the teacher matrix must be tokens x tokens");
  require((teacher_matrix.array() >= 0).all() &&
              ((teacher_matrix.rowwise().sum().array() - 1).abs() < 1e-9).all(),
          "the teacher matrix must be row-stochastic");
  require(
      positional_matrix.rows() == tokens && positional_matrix.cols() >= 1 && positional_matrix.allFinite(),
      "the positional matrix must have one row per token");
}

}  // namespace qksolve::phase
