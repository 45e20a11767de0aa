#include "qksolve/data/mqar.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "qksolve/numerics/random_integers.hpp"

namespace qksolve::training {

namespace {

constexpr std::uint64_t kTraining = 1, kValidation = 2;

Batch draw(const Recall& r, const numerics::RandomStream& stream, std::int64_t first, std::int64_t count) {
  Batch batch{count, r.context, {}, {}, {}};
  batch.tokens.reserve(static_cast<std::size_t>(count * r.context));
  const std::size_t pairs = static_cast<std::size_t>(r.pairs);
  const std::int64_t rooms = (r.context - 2 * r.pairs) / 2;
  for (std::int64_t s = 0; s < count; ++s) {
    numerics::RandomIntegers random(stream, static_cast<std::uint64_t>(first + s));
    const auto keys = random.choose(1, r.vocabulary / 2, pairs);
    const auto values = random.choose(r.vocabulary / 2, r.vocabulary, pairs);
    // The first arrivals of independent exponential clocks are a sequence of draws without replacement.
    std::vector<double> arrival(static_cast<std::size_t>(rooms));
    for (std::size_t j = 0; j < arrival.size(); ++j)
      arrival[j] = -std::log(random.unit()) * std::pow(static_cast<double>(j + 1), 1 - r.power);
    std::vector<std::int64_t> order(arrival.size());
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + r.pairs, order.end(),
                      [&](std::int64_t a, std::int64_t b) {
                        return arrival[static_cast<std::size_t>(a)] < arrival[static_cast<std::size_t>(b)];
                      });

    std::vector<std::int64_t> sequence;
    for (std::size_t i = 0; i < pairs; ++i) sequence.insert(sequence.end(), {keys[i], values[i]});
    while (static_cast<std::int64_t>(sequence.size()) < r.context)
      sequence.push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(r.vocabulary))));
    std::vector<std::size_t> in_order(pairs);
    std::iota(in_order.begin(), in_order.end(), std::size_t{0});
    std::sort(in_order.begin(), in_order.end(),
              [&](std::size_t a, std::size_t b) { return order[a] < order[b]; });
    for (const std::size_t i : in_order) {
      const std::int64_t position = 2 * r.pairs + 2 * order[i];
      sequence[static_cast<std::size_t>(position)] = keys[i];
      batch.places.push_back(s * r.context + position);
      batch.targets.push_back(values[i]);
    }
    batch.tokens.insert(batch.tokens.end(), sequence.begin(), sequence.end());
  }
  return batch;
}

}  // namespace

void Recall::validate() const {
  if (pairs < 1) throw std::invalid_argument("recall needs a pair");
  if (context < 4 * pairs) throw std::invalid_argument("a context holds at least 4 tokens a pair");
  if (vocabulary / 2 - 1 < pairs)
    throw std::invalid_argument("half of the vocabulary, less one, holds a key for every pair");
  if (!(power > 0 && std::isfinite(power)))
    throw std::invalid_argument("the power of the distances is positive");
}

Task recall_task(const Recall& recall, std::int64_t validation_sequences) {
  recall.validate();
  Task task;
  task.vocabulary = recall.vocabulary;
  task.context = recall.context;
  task.training = [recall](std::uint64_t seed, std::int64_t first, std::int64_t count) {
    return draw(recall, {seed, 0, 0, kTraining}, first, count);
  };
  task.validation_sequences = validation_sequences;
  task.validation = [recall](std::int64_t first, std::int64_t count) {
    return draw(recall, {0, 0, 0, kValidation}, first, count);
  };
  return task;
}

}  // namespace qksolve::training
