// Multi-query associative recall, as defined by the Zoology benchmark (Arora et al., arXiv 2312.04927): pairs
// of a key and its value, then some of the keys again, each to be answered by its value.
#pragma once

#include "qksolve/data/task.hpp"

namespace qksolve::training {

struct Recall {
  std::int64_t context = 64, pairs = 8, vocabulary = 256;
  double power = 0.01;  // a of the law of the distances, > 0

  // Throws std::invalid_argument unless pairs >= 1, context >= 4 pairs, and either half of the vocabulary,
  // whose token 0 is no key, holds as many tokens as there are pairs.
  void validate() const;
};

// A sequence is k v k v ... of all pairs, keys from tokens 1 ... vocabulary/2 - 1, values from the other
// half, neither with repeats. Every key comes once more: the query of pair i at position 2 pairs + 2 j_i, the
// j_i >= 0 different, drawn one after the other with probability proportional to (j + 1)^(power - 1). All
// other positions hold any token of the vocabulary (one that happens to be a key is not scored). Scored are
// the queries, with the value as target.
Task recall_task(const Recall& recall, std::int64_t validation_sequences);

}  // namespace qksolve::training
