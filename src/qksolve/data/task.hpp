// What a model is trained on: sequences of tokens, and the places where its prediction of a token is scored.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace qksolve::training {

struct Batch {
  std::int64_t sequences = 0, context = 0;
  std::vector<std::int64_t> tokens;   // sequences x context, each in [0, vocabulary)
  std::vector<std::int64_t> places;   // sequence * context + position, ascending; as many in every sequence
  std::vector<std::int64_t> targets;  // the token that is predicted at each place

  std::int64_t places_a_sequence() const { return static_cast<std::int64_t>(places.size()) / sequences; }
};

struct Task {
  std::int64_t vocabulary = 0, context = 0;
  // Sequences first ... first + count - 1 of the endless training data that belong to a seed.
  std::function<Batch(std::uint64_t seed, std::int64_t first, std::int64_t count)> training;
  // Of validation_sequences sequences that are never trained on, the same for every seed.
  std::int64_t validation_sequences = 0;
  std::function<Batch(std::int64_t first, std::int64_t count)> validation;
};

}  // namespace qksolve::training
