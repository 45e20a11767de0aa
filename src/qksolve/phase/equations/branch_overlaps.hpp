// Which overlaps a branch has: where they stand in the columns of Q, as coordinates of a fixed-point problem,
// where its iterations start, and the branch that given overlaps belong to.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "qksolve/phase/equations/branches.hpp"

namespace qksolve::phase {

// Which columns of Q carry which overlap on a branch. The risk depends on Q Q' only, so that any rotation of
// the columns is the same student: the encodings take the first columns, the teacher's directions the next
// ones, as far as there are columns. Reflections of single columns, together with the teacher's, then leave
// the rest at zero: the off-diagonal entries of q and V except among the columns of several encodings.
struct Layout {
  int m_columns = 0, theta_first = 0, theta_columns = 0;

  Layout(const Model& model, const Branch& branch);
};

// The free components of the overlaps as one vector: q and V, then theta, then m.
class Coordinates {
 public:
  explicit Coordinates(const Model& model);  // all there are
  Coordinates(const Model& model, const Branch& branch);

  Eigen::VectorXd pack(const Overlaps& overlaps) const;
  Overlaps unpack(const Eigen::VectorXd& x) const;

  // Positive scales for residuals: the value; for theta and m at least sqrt(q) times the cosine below which
  // they count as vanished; off the diagonal of q and V the diagonal.
  Eigen::VectorXd scale(const Eigen::VectorXd& x) const;

  Eigen::Index size() const { return static_cast<Eigen::Index>(entries_.size()); }
  bool is_theta(Eigen::Index k) const { return entry(k).of == &Overlaps::theta; }
  bool is_m(Eigen::Index k) const { return entry(k).of == &Overlaps::m; }

 private:
  struct Entry {
    Eigen::MatrixXd Overlaps::*of;
    Eigen::Index row, column;
  };

  const Entry& entry(Eigen::Index k) const { return entries_[static_cast<std::size_t>(k)]; }

  std::vector<Entry> entries_;
  Overlaps zero_;
};

// Informed starts of a branch, to be tried in turn. They lie well inside the basins at the paper's
// parameters.
std::vector<Overlaps> default_starts(const Model& model, double alpha, const Branch& branch);

// The branch whose non-vanishing overlaps these are.
Branch identify(const Overlaps& overlaps);

// The same after those have vanished that are so small that the map, which leads to `next`, is linear in
// them, and that it shrinks. Next to where a branch bifurcates from zero they shrink by less.
Branch branch_ahead(const Overlaps& overlaps, const Overlaps& next);

}  // namespace qksolve::phase
