#include "qksolve/coupled/draws.hpp"

namespace qksolve::coupled {

numerics::RandomStream random_stream(std::uint64_t seed, std::uint64_t instance, Purpose purpose) {
  return {seed, 0, instance, static_cast<std::uint64_t>(purpose)};
}

Eigen::MatrixXd draw_normals(const numerics::RandomStream& stream, Eigen::Index rows, Eigen::Index columns,
                             const numerics::Interrupt& interrupted) {
  Eigen::MatrixXd transposed(columns, rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    numerics::throw_if(interrupted);
    numerics::fill_normals(stream, static_cast<std::uint64_t>(i), transposed.col(i).data(),
                           static_cast<std::size_t>(columns));
  }
  return transposed.transpose();
}

}  // namespace qksolve::coupled
