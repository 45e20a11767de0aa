// What a noiseless label of the positional/semantic teacher reveals (r* = 1, omega < 1, omega and A known):
// the teacher's preactivations z_l = h_l/sigma_l of the L tokens, up to one sign common to them all. Two
// tokens at least are needed: the attention of one token is 1 whatever it is. One token stands for phase
// retrieval here, as a check.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace qksolve::phase::bayes {

struct SignPosterior {
  Eigen::VectorXd mean;  // of z
  double log_evidence;   // log of the density of the label: of z, either sign
};

// Of z ~ N(centre, variance I), given z up to its sign. Shapes: tokens. variance > 0.
SignPosterior sign_posterior(const Eigen::VectorXd& z, const Eigen::VectorXd& centre, double variance);

// Averages over labels where the centre is w ~ N(0, q I) and z = w + sqrt(1 - q) N(0, I). With
// y the product of x and x', two vectors of N(0, I), K_L(q) = E |x|^2 sech(sqrt(q) y) is an integral over one
// Bessel function.
class SignChannel {
 public:
  // tokens in [1, 64]. The integral by the trapezoidal rule with this step after a double-exponential
  // substitution.
  explicit SignChannel(int tokens, double step = 0.0625);

  int tokens() const { return tokens_; }

  // The functions take q in [0, 1] and 1 - q apart: each may be small.

  // (1 - q) E|g|^2 with g = (<z> - w)/(1 - q), which is L - (1 - q)^{L/2} K_L(q). Relative error 1e-13.
  double information(double q, double one_minus_q) const;

  // Mean conditional entropy of the sign, from log 2 at q = 0 to 0 at q = 1.
  double sign_entropy(double q, double one_minus_q) const;

  // K_L(q) by the Bessel integral.
  double kernel(double q) const;

 private:
  struct Node {
    double y;
    double weighted;  // weight of the density of y that carries |x|^2
    double plain;     // weight of the density of y
  };
  int tokens_;
  std::vector<Node> nodes_;
};

// K_2(q) in closed form, by digamma functions; q in (0, 1]. Below q = 1e-2 digits cancel.
double two_token_kernel(double q);

// H(q) for two tokens in closed form; the same range.
double two_token_sign_entropy(double q);

}  // namespace qksolve::phase::bayes
