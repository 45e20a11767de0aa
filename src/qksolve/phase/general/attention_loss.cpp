#include <algorithm>
#include <stdexcept>
#include <vector>

#include "qksolve/phase/general/sequence_loss.hpp"

namespace qksolve::phase {

using numerics::Pack;

namespace {

// Enough for the tokens of any model whose expectations can be computed.
constexpr int kMostTokens = 64;

// Row l of softmax_rows(h h') for h of L x r.
void attention_row(const Pack* h, int tokens, int rank, int l, Pack* row) {
  Pack highest{};
  for (int m = 0; m < tokens; ++m) {
    row[m] = Pack{};
    for (int k = 0; k < rank; ++k) row[m] += h[l * rank + k] * h[m * rank + k];
    highest = m == 0 ? row[0] : numerics::max(highest, row[m]);
  }
  Pack total{};
  for (int m = 0; m < tokens; ++m) total += row[m] = numerics::exp(row[m] - highest);
  for (int m = 0; m < tokens; ++m) row[m] /= total;
}

class AttentionLoss {
 public:
  explicit AttentionLoss(const Model& model)
      : tokens_(model.tokens), rank_(model.rank), teacher_rank_(model.teacher_rank), omega_(model.omega) {
    for (int l = 0; l < tokens_; ++l) {
      variance_.push_back(model.sigma[l] * model.sigma[l]);
      for (int m = 0; m < tokens_; ++m) positional_.push_back(model.omega * model.teacher_matrix(l, m));
    }
  }

  void label(const Pack* h, Pack* t) const {
    for (int l = 0; l < tokens_; ++l, t += tokens_) {
      attention_row(h, tokens_, teacher_rank_, l, t);
      for (int m = 0; m < tokens_; ++m) t[m] = (1.0 - omega_) * t[m] + positional_[l * tokens_ + m];
    }
  }

  // With a_lm = z_l.z_m the logits of row l, g_l = D (S_l - T_l) and J_l = diag S_l - S_l S_l' = dS_l/da_l,
  // the loss has the derivatives K_l = J_l g_l and H_l = J_l D J_l + diag K_l - S_l K_l' - K_l S_l' in them.
  Pack value(const Pack* z, const Pack* t, Pack* gradient, Pack* hessian) const {
    const int L = tokens_, r = rank_, n = L * r;
    Pack slope[kMostTokens * kMostTokens];      // K_lm
    Pack curvature[kMostTokens * kMostTokens];  // H_l of one row
    if (hessian) std::fill_n(hessian, n * n, Pack{});
    Pack loss{};
    for (int l = 0; l < L; ++l) {
      Pack s[kMostTokens], g[kMostTokens], mean{};
      attention_row(z, L, r, l, s);
      for (int m = 0; m < L; ++m) {
        const Pack gap = s[m] - t[l * L + m];
        g[m] = variance_[m] * gap;
        loss += 0.5 * g[m] * gap;
        mean += s[m] * g[m];
      }
      if (!gradient && !hessian) continue;
      Pack* k = slope + l * L;
      for (int m = 0; m < L; ++m) k[m] = s[m] * (g[m] - mean);
      if (!hessian) continue;
      // J D J = (diag S) D (diag S) - S (D S.S)' - (D S.S) S' + (S.D S) S S', with S.S by entries.
      Pack total{};
      for (int m = 0; m < L; ++m) total += variance_[m] * s[m] * s[m];
      for (int m = 0; m < L; ++m)
        for (int p = m; p < L; ++p) {
          Pack h =
              s[m] * s[p] * (total - variance_[m] * s[m] - variance_[p] * s[p]) - s[m] * k[p] - k[m] * s[p];
          if (m == p) h += variance_[m] * s[m] * s[m] + k[m];
          curvature[m * L + p] = curvature[p * L + m] = h;
        }
      add_row(z, l, curvature, hessian);
    }
    for (int l = 0; l < L && (gradient || hessian); ++l)
      for (int m = 0; m < L; ++m) {
        const Pack k = slope[l * L + m] + slope[m * L + l];
        for (int i = 0; i < r; ++i) {
          if (gradient) gradient[l * r + i] = (m == 0 ? Pack{} : gradient[l * r + i]) + k * z[m * r + i];
          if (hessian) hessian[(l * r + i) * n + m * r + i] += k;
        }
      }
    return loss;
  }

  double baseline(const double* mean, const double* mean_square) const {
    double loss = 0;
    for (int l = 0; l < tokens_; ++l)
      for (int m = 0; m < tokens_; ++m) {
        const int i = l * tokens_ + m;
        loss += 0.5 * variance_[m] * (mean_square[i] - mean[i] * mean[i]);
      }
    return loss;
  }

 private:
  // (da_l)' H_l (da_l) with da_lm = dz_l.z_m + z_l.dz_m.
  void add_row(const Pack* z, int l, const Pack* h, Pack* hessian) const {
    const int L = tokens_, r = rank_, n = L * r;
    const Pack* zl = z + l * r;
    for (int i = 0; i < r; ++i) {
      Pack hz[kMostTokens], own{};  // H_l z in column i
      for (int m = 0; m < L; ++m) {
        hz[m] = Pack{};
        for (int p = 0; p < L; ++p) hz[m] += h[m * L + p] * z[p * r + i];
      }
      for (int j = 0; j < r; ++j) {
        own = Pack{};
        for (int m = 0; m < L; ++m) own += hz[m] * z[m * r + j];
        hessian[(l * r + i) * n + l * r + j] += own;
        for (int m = 0; m < L; ++m) {
          const Pack cross = hz[m] * zl[j];  // dz_l in column i, dz_m in column j
          hessian[(l * r + i) * n + m * r + j] += cross;
          hessian[(m * r + j) * n + l * r + i] += cross;
          const Pack both = zl[i] * zl[j];
          for (int p = 0; p < L; ++p) hessian[(m * r + i) * n + p * r + j] += h[m * L + p] * both;
        }
      }
    }
  }

  int tokens_, rank_, teacher_rank_;
  double omega_;
  std::vector<double> variance_, positional_;
};

}  // namespace

SequenceLoss attention_loss(const Model& model) {
  model.validate();
  if (model.tokens > kMostTokens) throw std::invalid_argument("tokens must be at most 64");
  const AttentionLoss loss(model);
  return {model.tokens * model.tokens, [loss](const Pack* h, Pack* label) { loss.label(h, label); },
          [loss](const Pack* z, const Pack* label, Pack* gradient, Pack* hessian) {
            return loss.value(z, label, gradient, hessian);
          },
          [loss](const double* mean, const double* mean_square) { return loss.baseline(mean, mean_square); }};
}

}  // namespace qksolve::phase
