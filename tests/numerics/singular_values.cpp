#include "qksolve/numerics/singular_values.hpp"

#include <doctest/doctest.h>

#include <Eigen/QR>
#include <cmath>
#include <stdexcept>

using namespace qksolve::numerics;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

MatrixXd normals(Index rows, Index columns, std::uint64_t purpose) {
  MatrixXd x(rows, columns);
  for (Index j = 0; j < columns; ++j)
    fill_normals({1, 0, 0, purpose}, static_cast<std::uint64_t>(j), x.col(j).data(),
                 static_cast<std::size_t>(rows));
  return x;
}

// softmax of the columns of k q'/sqrt d.
MatrixXd attention(Index tokens, Index d) {
  MatrixXd a = normals(tokens, d, 1) * normals(tokens, d, 2).transpose() / std::sqrt(static_cast<double>(d));
  a = a.array().exp();
  return a * a.colwise().sum().cwiseInverse().asDiagonal();
}

}  // namespace

TEST_CASE("a matrix with known singular values") {
  // Orthogonal times diagonal times orthogonal: s = 3, 2, and 1/(i + 1) for the others.
  const Index n = 150;
  const auto orthogonal = [&](std::uint64_t purpose) -> MatrixXd {
    return Eigen::HouseholderQR<MatrixXd>(normals(n, n, purpose)).householderQ();
  };
  VectorXd s(n);
  for (Index i = 0; i < n; ++i) s[i] = i == 0 ? 3 : i == 1 ? 2 : 1.0 / static_cast<double>(i + 1);
  const MatrixXd A = orthogonal(3) * s.asDiagonal() * orthogonal(4);
  const VectorXd p = s / s.sum();
  const double rank = std::exp(-(p.array() * p.array().log()).sum());
  for (const Index full : {200, 10}) {
    const SpectrumSummary x = summarize_spectrum(A, {}, full);
    CHECK(x.first == doctest::Approx(3).epsilon(1e-12));
    CHECK(x.second == doctest::Approx(2).epsilon(1e-12));
    CHECK(std::abs(x.effective_rank - rank) <
          1e-9 + 5 * std::hypot(x.effective_rank_truncation, x.effective_rank_spread));
  }
}

TEST_CASE("partial and full spectrum of attention agree at 512 tokens") {
  for (const Index d : {1, 8, 64}) {
    CAPTURE(d);
    const MatrixXd A = attention(512, d);
    const SpectrumSummary full = summarize_spectrum(A, {});
    CHECK(full.leading_error == 0);
    CHECK(full.effective_rank_spread == 0);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const SpectrumSummary partial = summarize_spectrum(A, {seed, 0, 0, 0}, 100);
      CHECK(std::abs(partial.first - full.first) <= partial.leading_error + 1e-13);
      CHECK(std::abs(partial.second - full.second) <= partial.leading_error + 1e-13);
      CHECK(partial.leading_error <= 1e-6 * partial.second);
      CHECK(std::abs(partial.effective_rank - full.effective_rank) <=
            1e-9 + 5 * std::hypot(partial.effective_rank_truncation, partial.effective_rank_spread));
      CHECK(partial.effective_rank_spread < 0.1 * partial.effective_rank);
    }
  }
}

TEST_CASE("matrices of low rank and of none") {
  const SpectrumSummary one = summarize_spectrum(normals(600, 1, 1) * normals(1, 600, 2), {});
  CHECK(one.effective_rank == doctest::Approx(1));
  CHECK(one.second < 1e-10 * one.first);
  CHECK_THROWS_AS(summarize_spectrum(MatrixXd::Ones(1, 1), {}), std::invalid_argument);
  CHECK_THROWS_AS(summarize_spectrum(MatrixXd::Ones(3, 2), {}), std::invalid_argument);
}
