#include "qksolve/phase/report/deep_record.hpp"

#include "qksolve/phase/equations/bayes_optimal/two_layer_channel.hpp"

namespace qksolve::results {

Json deep_threshold(double c, double tolerance) {
  const phase::bayes::WeakThreshold found = phase::bayes::second_layer_threshold(c, tolerance);
  Json record;
  record["skip"] = c;
  record["which"] = "alpha2";
  record["status"] = found.converged ? "converged" : "failed";
  if (!found.converged) {
    record["reason"] = "the largest rule does not reach the tolerance";
    return record;
  }
  put(record, "value", found.alpha);
  put(record, "value_error", found.error);
  return record;
}

}  // namespace qksolve::results
