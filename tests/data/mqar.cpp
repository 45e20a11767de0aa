// Recall: the definition, sequence by sequence, and the laws of what is drawn.
#include "qksolve/data/mqar.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <vector>

#include "numerics/chi_square.hpp"

using namespace qksolve::training;

namespace {

void check_definition(const Recall& r, const Batch& batch, std::int64_t sequences) {
  REQUIRE(batch.sequences == sequences);
  REQUIRE(batch.context == r.context);
  REQUIRE(batch.tokens.size() == static_cast<std::size_t>(sequences * r.context));
  REQUIRE(batch.places.size() == static_cast<std::size_t>(sequences * r.pairs));
  REQUIRE(batch.targets.size() == batch.places.size());
  CHECK(batch.places_a_sequence() == r.pairs);
  CHECK(std::is_sorted(batch.places.begin(), batch.places.end()));
  CHECK(std::set(batch.places.begin(), batch.places.end()).size() == batch.places.size());
  for (const std::int64_t token : batch.tokens) REQUIRE((token >= 0 && token < r.vocabulary));
  for (std::int64_t s = 0; s < sequences; ++s) {
    const std::int64_t* tokens = batch.tokens.data() + s * r.context;
    std::set<std::int64_t> keys, values, asked;
    for (std::int64_t i = 0; i < r.pairs; ++i) {
      const std::int64_t key = tokens[2 * i], value = tokens[2 * i + 1];
      CHECK((key >= 1 && key < r.vocabulary / 2));
      CHECK((value >= r.vocabulary / 2 && value < r.vocabulary));
      CHECK(keys.insert(key).second);
      CHECK(values.insert(value).second);
    }
    for (std::int64_t i = 0; i < r.pairs; ++i) {
      const std::size_t query = static_cast<std::size_t>(s * r.pairs + i);
      const std::int64_t position = batch.places[query] - s * r.context;
      REQUIRE((position >= 2 * r.pairs && position < r.context));
      CHECK((position - 2 * r.pairs) % 2 == 0);
      const std::int64_t key = tokens[position];
      CHECK(asked.insert(key).second);
      const std::int64_t* pair = std::find(tokens, tokens + 2 * r.pairs, key);
      REQUIRE(pair < tokens + 2 * r.pairs);
      CHECK((pair - tokens) % 2 == 0);
      CHECK(batch.targets[query] == pair[1]);
    }
    CHECK(asked == keys);
  }
}

// Where the query of each pair is: j of position 2 pairs + 2 j.
std::vector<std::size_t> distances(const Recall& r, const Batch& batch, std::int64_t sequence) {
  std::vector<std::size_t> found;
  const std::int64_t* tokens = batch.tokens.data() + sequence * r.context;
  for (std::int64_t pair = 0; pair < r.pairs; ++pair)
    for (std::int64_t i = 0; i < r.pairs; ++i) {
      const std::int64_t position =
          batch.places[static_cast<std::size_t>(sequence * r.pairs + i)] - sequence * r.context;
      if (tokens[position] == tokens[2 * pair])
        found.push_back(static_cast<std::size_t>((position - 2 * r.pairs) / 2));
    }
  return found;
}

Batch joined(Batch a, const Batch& b) {
  for (const std::int64_t place : b.places) a.places.push_back(a.sequences * a.context + place);
  a.sequences += b.sequences;
  a.tokens.insert(a.tokens.end(), b.tokens.begin(), b.tokens.end());
  a.targets.insert(a.targets.end(), b.targets.begin(), b.targets.end());
  return a;
}

bool same(const Batch& a, const Batch& b) {
  return a.sequences == b.sequences && a.context == b.context && a.tokens == b.tokens &&
         a.places == b.places && a.targets == b.targets;
}

}  // namespace

TEST_CASE("sequences are pairs, then queries that their values answer") {
  // Also with odd numbers, and with as many pairs as there is room for.
  for (const Recall& r :
       {Recall{64, 8, 256, 0.01}, Recall{32, 4, 64, 0.5}, Recall{32, 8, 18, 0.01}, Recall{33, 8, 19, 2.0},
        Recall{4, 1, 4, 0.01}, Recall{5, 1, 5, 1.0}, Recall{257, 3, 4096, 0.1}}) {
    CAPTURE(r.context);
    CAPTURE(r.pairs);
    CAPTURE(r.vocabulary);
    const Task task = recall_task(r, 20);
    CHECK(task.context == r.context);
    CHECK(task.vocabulary == r.vocabulary);
    CHECK(task.validation_sequences == 20);
    check_definition(r, task.training(3, 1000, 100), 100);
    check_definition(r, task.validation(0, 20), 20);
  }
}

TEST_CASE("the distance of one query has a power law") {
  for (const double power : {0.01, 0.5, 1.0, 2.0}) {
    CAPTURE(power);
    const Recall r{20, 1, 64, power};
    const Batch batch = recall_task(r, 1).training(5, 0, 20000);
    std::vector<double> counts(9), weights;
    for (std::int64_t s = 0; s < batch.sequences; ++s) ++counts.at(distances(r, batch, s)[0]);
    for (int j = 0; j < 9; ++j) weights.push_back(std::pow(j + 1, power - 1));
    CHECK(chi_square_deviations(counts, weights) < 5);
  }
}

TEST_CASE("distances of two queries are draws without replacement") {
  const Recall r{12, 2, 64, 0.2};
  const Batch batch = recall_task(r, 1).training(5, 0, 30000);
  std::vector<double> counts, weights, p;
  double sum = 0;
  for (int j = 0; j < 4; ++j) sum += std::pow(j + 1, r.power - 1);
  for (int j = 0; j < 4; ++j) p.push_back(std::pow(j + 1, r.power - 1) / sum);
  std::vector<std::vector<double>> table(4, std::vector<double>(4));
  for (std::int64_t s = 0; s < batch.sequences; ++s) {
    const auto found = distances(r, batch, s);
    REQUIRE(found.size() == 2);
    ++table.at(found[0]).at(found[1]);
  }
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b < 4; ++b) {
      if (a == b) {
        CHECK(table[a][b] == 0);
        continue;
      }
      counts.push_back(table[a][b]);
      weights.push_back(p[a] * p[b] / (1 - p[a]));
    }
  CHECK(chi_square_deviations(counts, weights) < 5);
}

TEST_CASE("keys, values and all other tokens are uniform") {
  const Recall r{12, 2, 16, 0.5};
  const Batch batch = recall_task(r, 1).training(5, 0, 20000);
  std::vector<double> keys(7), values(8), others(16);
  std::set<std::int64_t> queries(batch.places.begin(), batch.places.end());
  for (std::int64_t s = 0; s < batch.sequences; ++s) {
    const std::int64_t* tokens = batch.tokens.data() + s * r.context;
    ++keys.at(static_cast<std::size_t>(tokens[0] - 1));
    ++values.at(static_cast<std::size_t>(tokens[3] - 8));
    for (std::int64_t t = 4; t < 12; ++t)
      if (!queries.contains(s * r.context + t)) ++others.at(static_cast<std::size_t>(tokens[t]));
  }
  CHECK(chi_square_deviations(keys) < 5);
  CHECK(chi_square_deviations(values) < 5);
  CHECK(chi_square_deviations(others) < 5);
}

TEST_CASE("a sequence does not depend on those it is drawn with") {
  const Task task = recall_task({16, 3, 32, 0.1}, 10);
  const Batch all = task.training(2, 5, 7);
  CHECK(same(all, joined(joined(task.training(2, 5, 2), task.training(2, 7, 1)), task.training(2, 8, 4))));
  CHECK(same(all, task.training(2, 5, 7)));
  CHECK(!same(all, task.training(2, 6, 7)));
  CHECK(same(task.validation(0, 10), joined(task.validation(0, 4), task.validation(4, 6))));
  // Two tasks of the same definition are the same.
  CHECK(same(all, recall_task({16, 3, 32, 0.1}, 1).training(2, 5, 7)));
}

TEST_CASE("no sequence of one seed is one of another, or of validation") {
  const Task task = recall_task({32, 4, 64, 0.1}, 200);
  std::set<std::vector<std::int64_t>> seen;
  auto add = [&](const Batch& batch) {
    for (std::int64_t s = 0; s < batch.sequences; ++s)
      seen.emplace(batch.tokens.begin() + s * 32, batch.tokens.begin() + (s + 1) * 32);
  };
  for (const std::uint64_t seed : {0ULL, 1ULL, 2ULL, ~0ULL}) add(task.training(seed, 0, 200));
  add(task.validation(0, 200));
  CHECK(seen.size() == 5 * 200);
}

TEST_CASE("recall that has no room is refused, and what just fits is not") {
  const auto refused = [](const Recall& r) {
    CHECK_THROWS_AS(r.validate(), std::invalid_argument);
    CHECK_THROWS_AS(recall_task(r, 1), std::invalid_argument);
  };
  const auto accepted = [](const Recall& r) {
    CHECK_NOTHROW(r.validate());
    check_definition(r, recall_task(r, 1).training(0, 0, 5), 5);
  };
  CHECK_NOTHROW(Recall{}.validate());
  refused({16, 0, 32, 0.1});
  refused({16, -1, 32, 0.1});
  accepted({16, 1, 32, 0.1});
  refused({15, 4, 32, 0.1});
  accepted({16, 4, 32, 0.1});
  refused({16, 4, 9, 0.1});  // keys 1, 2, 3
  accepted({16, 4, 10, 0.1});
  refused({16, 4, 32, 0});
  refused({16, 4, 32, -0.1});
  refused({16, 4, 32, std::numeric_limits<double>::quiet_NaN()});
  accepted({16, 4, 32, 1e-9});
}
