// The network against loops over queries and keys in double, and what has to hold of any decoder.
#include "qksolve/transformer/model.hpp"

#include <torch/torch.h>

#include <Eigen/Core>
#include <cmath>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "qksolve/coupled/draws.hpp"
#include "qksolve/coupled/map.hpp"
#include "qksolve/numerics/random_integers.hpp"
#include "variants.hpp"

// Last: this CHECK, not that of Torch's logging.
#include "after_torch.hpp"

using namespace qksolve::transformer;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using qksolve::coupled::Integrator;
using torch::Tensor;

namespace {

MatrixXd matrix(const Tensor& t) {
  MatrixXd m(t.size(0), t.size(1));
  const Tensor doubles = t.detach().to(torch::kDouble).contiguous();
  for (Eigen::Index i = 0; i < m.rows(); ++i)
    for (Eigen::Index j = 0; j < m.cols(); ++j) m(i, j) = doubles.data_ptr<double>()[i * m.cols() + j];
  return m;
}

VectorXd vector(const Tensor& t) { return matrix(t.reshape({-1, 1})).col(0); }

Integrator integrator(Variant variant) {
  switch (variant) {
    case Variant::euler:
      return Integrator::euler;
    case Variant::leapfrog:
      return Integrator::leapfrog;
    case Variant::uncoupled:
      return Integrator::uncoupled;
    default:
      return Integrator::standard;
  }
}

// Neighbouring channels turned by angles that grow with the position.
MatrixXd turned(const MatrixXd& x) {
  MatrixXd out(x.rows(), x.cols());
  for (Eigen::Index t = 0; t < x.rows(); ++t)
    for (Eigen::Index j = 0; j < x.cols() / 2; ++j) {
      const double angle = static_cast<double>(t) *
                           std::pow(10000, -2 * static_cast<double>(j) / static_cast<double>(x.cols()));
      const double c = std::cos(angle), s = std::sin(angle);
      out(t, 2 * j) = c * x(t, 2 * j) - s * x(t, 2 * j + 1);
      out(t, 2 * j + 1) = s * x(t, 2 * j) + c * x(t, 2 * j + 1);
    }
  return out;
}

MatrixXd causal_softmax(const MatrixXd& q, const MatrixXd& k) {
  MatrixXd weights = MatrixXd::Zero(q.rows(), q.rows());
  for (Eigen::Index i = 0; i < q.rows(); ++i) {
    for (Eigen::Index j = 0; j <= i; ++j)
      weights(i, j) = std::exp(q.row(i).dot(k.row(j)) / std::sqrt(static_cast<double>(q.cols())));
    weights.row(i) /= weights.row(i).sum();
  }
  return weights;
}

struct Expected {
  MatrixXd added;                 // context x dimension
  std::vector<MatrixXd> weights;  // of the maps
  double lambda = 0;
};

// The attention of one sequence x, context x dimension; layers from 1 here.
Expected attend(const Model& model, int layer, const MatrixXd& x) {
  const ModelOptions& options = model.options();
  const std::string name = "layer" + std::to_string(layer) + ".";
  const Eigen::Index d = options.dimension, n = d / options.heads, T = x.rows();
  MatrixXd input = x;
  if (options.token_shift) {
    const VectorXd mix = vector(parameter(model, name + "mix"));
    for (Eigen::Index t = 1; t < T; ++t) input.row(t) += mix.transpose().cwiseProduct(x.row(t - 1));
  }
  const MatrixXd projected = input * matrix(parameter(model, name + "query_key_value")).transpose();
  auto placed = [&](const MatrixXd& z) { return options.rotary ? turned(z) : z; };

  Expected expected;
  MatrixXd heads(T, d);
  for (Eigen::Index head = 0; head < options.heads; ++head) {
    qksolve::coupled::State z{projected.middleCols(head * n, n), projected.middleCols(d + head * n, n)};
    const MatrixXd v = projected.middleCols(2 * d + head * n, n);
    if (evolves(options.variant)) {
      const Eigen::Index force = options.per_head ? head : 0;
      qksolve::coupled::Map map;
      map.integrator = integrator(options.variant);
      map.coupling.W1 = matrix(parameter(model, name + "force_in")[force]);
      map.coupling.W2 = matrix(parameter(model, name + "force_out")[force]);
      map.step_size = parameter(model, name + "step_size").item<double>();
      map.steps = options.coupling_steps;
      z = qksolve::coupled::evolve(map, z);
    }
    if (options.variant == Variant::differential) {
      const MatrixXd vectors = matrix(parameter(model, name + "lambda_vectors"));
      const double initial = 0.8 - 0.6 * std::exp(-0.3 * (layer - 1));
      expected.lambda = std::exp(vectors.row(0).dot(vectors.row(1))) -
                        std::exp(vectors.row(2).dot(vectors.row(3))) + initial;
      const MatrixXd first = causal_softmax(placed(z.q.leftCols(n / 2)), placed(z.k.leftCols(n / 2)));
      const MatrixXd second = causal_softmax(placed(z.q.rightCols(n / 2)), placed(z.k.rightCols(n / 2)));
      MatrixXd out = (first - expected.lambda * second) * v;
      const VectorXd gain = vector(parameter(model, name + "head_gain"));
      for (Eigen::Index t = 0; t < T; ++t)
        out.row(t) = (1 - initial) * gain.transpose().cwiseProduct(out.row(t)) /
                     std::sqrt(out.row(t).squaredNorm() / static_cast<double>(n) + 1e-5);
      heads.middleCols(head * n, n) = out;
      expected.weights.push_back(first);
      expected.weights.push_back(second);
    } else {
      expected.weights.push_back(causal_softmax(placed(z.q), placed(z.k)));
      heads.middleCols(head * n, n) = expected.weights.back() * v;
    }
  }
  expected.added = heads * matrix(parameter(model, name + "output")).transpose();
  return expected;
}

MatrixXd normalized(const MatrixXd& x, const Tensor& gain, const Tensor& bias) {
  MatrixXd out(x.rows(), x.cols());
  for (Eigen::Index t = 0; t < x.rows(); ++t) {
    const VectorXd centred = x.row(t).transpose().array() - x.row(t).mean();
    const double deviation = std::sqrt(centred.squaredNorm() / static_cast<double>(x.cols()) + 1e-5);
    out.row(t) = (centred / deviation).cwiseProduct(vector(gain)) + vector(bias);
  }
  return out;
}

// The logits at every position of one sequence.
MatrixXd logits_of(const Model& model, const std::vector<std::int64_t>& tokens) {
  auto of = [&](const std::string& name) { return parameter(model, name); };
  const MatrixXd embedding = matrix(of("embedding"));
  MatrixXd x(static_cast<Eigen::Index>(tokens.size()), embedding.cols());
  for (Eigen::Index t = 0; t < x.rows(); ++t) {
    x.row(t) = embedding.row(tokens[static_cast<std::size_t>(t)]);
    if (!model.options().rotary) x.row(t) += matrix(of("positions")).row(t);
  }
  for (int layer = 1; layer <= model.options().layers; ++layer) {
    const std::string name = "layer" + std::to_string(layer) + ".";
    x += attend(model, layer, normalized(x, of(name + "attention_gain"), of(name + "attention_bias"))).added;
    MatrixXd wide = normalized(x, of(name + "network_gain"), of(name + "network_bias")) *
                    matrix(of(name + "expand")).transpose();
    for (double& z : wide.reshaped()) z *= (1 + std::erf(z / std::sqrt(2.0))) / 2;  // GELU
    x += wide * matrix(of(name + "contract")).transpose();
  }
  return normalized(x, of("final_gain"), of("final_bias")) * embedding.transpose();
}

ModelOptions small(Variant variant) {
  ModelOptions options;
  options.variant = variant;
  options.vocabulary = 23;
  options.context = 12;
  options.dimension = 16;
  options.heads = 2;
  options.hidden = 10;
  options.seed = 5;
  return options;
}

Tensor random_inputs(std::int64_t sequences, std::int64_t context, std::int64_t dimension) {
  const auto stream = qksolve::coupled::random_stream(3, 0, qksolve::coupled::Purpose::queries);
  const MatrixXd values = qksolve::coupled::draw_normals(stream, sequences * context, dimension);
  Tensor x = torch::empty({sequences, context, dimension});
  for (Eigen::Index i = 0; i < values.rows(); ++i)
    for (Eigen::Index j = 0; j < values.cols(); ++j)
      x.data_ptr<float>()[i * values.cols() + j] = static_cast<float>(values(i, j));
  return x;
}

Tensor random_tokens(std::int64_t sequences, std::int64_t context, std::int64_t vocabulary,
                     std::uint64_t row = 0) {
  qksolve::numerics::RandomIntegers integers({7, 0, 0, 0}, row);
  Tensor tokens = torch::empty({sequences, context}, torch::kLong);
  for (std::int64_t i = 0; i < tokens.numel(); ++i)
    tokens.data_ptr<std::int64_t>()[i] =
        static_cast<std::int64_t>(integers.below(static_cast<std::uint64_t>(vocabulary)));
  return tokens;
}

Tensor all_places(const Tensor& tokens) { return torch::arange(tokens.numel(), torch::kLong); }

double largest(const Tensor& t) { return t.abs().max().item<double>(); }

void compare_attention(const ModelOptions& options) {
  CAPTURE(variant_name(options.variant));
  CAPTURE(options.heads);
  CAPTURE(options.coupling_steps);
  CAPTURE(options.per_head);
  CAPTURE(options.rotary);
  CAPTURE(options.token_shift);
  const torch::NoGradGuard no_gradients;
  const Model model(options);
  unsettle(model);
  // Some hundred operations on values of order 1, each off by at most 6e-8 of its result.
  const double rounding = 2e-5;
  // A short sequence also: positions count from its beginning.
  for (const std::int64_t context : {options.context, std::int64_t{5}}) {
    const Tensor x = random_inputs(2, context, options.dimension);
    for (int layer = 1; layer <= 2; ++layer) {
      CAPTURE(layer);
      AttentionMaps maps;
      const Tensor with_maps = model.attention(layer - 1, x, &maps);
      const Tensor added = model.attention(layer - 1, x);
      REQUIRE((added.sizes() == x.sizes()));
      REQUIRE(maps.weights.size() == 1);
      for (std::int64_t sequence = 0; sequence < 2; ++sequence) {
        const Expected expected = attend(model, layer, matrix(x[sequence]));
        const double scale = expected.added.cwiseAbs().maxCoeff();
        CHECK((matrix(added[sequence]) - expected.added).cwiseAbs().maxCoeff() < rounding * scale);
        CHECK((matrix(with_maps[sequence]) - expected.added).cwiseAbs().maxCoeff() < rounding * scale);
        REQUIRE(maps.weights[0].size(1) == static_cast<std::int64_t>(expected.weights.size()));
        for (std::size_t map = 0; map < expected.weights.size(); ++map)
          CHECK((matrix(maps.weights[0][sequence][static_cast<std::int64_t>(map)]) - expected.weights[map])
                    .cwiseAbs()
                    .maxCoeff() < rounding);
        if (options.variant == Variant::differential)
          CHECK(maps.lambda.at(0) == doctest::Approx(expected.lambda).epsilon(1e-6));
        else
          CHECK(maps.lambda.empty());
      }
    }
  }
}

}  // namespace

TEST_CASE("attention is that of loops over queries and keys") {
  for (const Variant variant : kVariants)
    for (const std::int64_t heads : {1, 2})
      for (const int steps : {1, 3})
        for (const bool per_head : {false, true})
          for (const bool rotary : {false, true})
            for (const bool shift : {false, true}) {
              if (!evolves(variant) && (steps > 1 || per_head)) continue;
              ModelOptions options = small(variant);
              options.heads = heads;
              options.coupling_steps = steps;
              options.per_head = per_head;
              options.rotary = rotary;
              options.token_shift = shift;
              compare_attention(options);
            }
}

TEST_CASE("logits are those of pre-norm blocks with tied embeddings") {
  const torch::NoGradGuard no_gradients;
  for (const Variant variant : kVariants)
    for (const bool rotary : {false, true}) {
      CAPTURE(variant_name(variant));
      CAPTURE(rotary);
      ModelOptions options = small(variant);
      options.rotary = rotary;
      options.token_shift = true;
      const Model model(options);
      unsettle(model);
      const Tensor tokens = random_tokens(1, options.context, options.vocabulary);
      const std::int64_t* first = tokens.data_ptr<std::int64_t>();
      const MatrixXd expected = logits_of(model, {first, first + options.context});
      // As above, through two layers and their normalizations.
      CHECK((matrix(model.logits(tokens, all_places(tokens))) - expected).cwiseAbs().maxCoeff() <
            5e-5 * expected.cwiseAbs().maxCoeff());
    }
}

TEST_CASE("a token changes no prediction before it, and those at its place and after") {
  const torch::NoGradGuard no_gradients;
  for (const Variant variant : kVariants)
    for (const bool rotary : {false, true})
      for (const bool shift : {false, true}) {
        CAPTURE(variant_name(variant));
        CAPTURE(rotary);
        CAPTURE(shift);
        ModelOptions options = small(variant);
        options.rotary = rotary;
        options.token_shift = shift;
        const Model model(options);
        unsettle(model);
        const Tensor tokens = random_tokens(2, options.context, options.vocabulary),
                     places = all_places(tokens);
        const Tensor before = model.logits(tokens, places);
        for (const std::int64_t changed : {std::int64_t{0}, std::int64_t{6}, options.context - 1}) {
          CAPTURE(changed);
          Tensor other = tokens.clone();
          other[1][changed] = (tokens[1][changed] + 1) % options.vocabulary;
          const Tensor after = model.logits(other, places);
          const std::int64_t first = options.context + changed;  // place
          CHECK(torch::equal(before.slice(0, 0, first), after.slice(0, 0, first)));
          for (std::int64_t place = first; place < 2 * options.context; ++place)
            CHECK(largest(before[place] - after[place]) > 1e-4);
        }
      }
}

TEST_CASE("logits are those of their places, in any order, and of each sequence alone") {
  const torch::NoGradGuard no_gradients;
  for (const Variant variant : kVariants) {
    CAPTURE(variant_name(variant));
    const ModelOptions options = small(variant);
    const Model model(options);
    unsettle(model);
    const Tensor tokens = random_tokens(3, options.context, options.vocabulary);
    const Tensor all = model.logits(tokens, all_places(tokens));
    CHECK((all.sizes() == torch::IntArrayRef{3 * options.context, options.vocabulary}));
    const Tensor some = torch::tensor({30, 2, 13}, torch::kLong);
    // Products of other shapes may sum in another order.
    const double rounding = 1e-5 * largest(all);
    CHECK(largest(model.logits(tokens, some) - all.index_select(0, some)) < rounding);
    const Tensor alone = tokens.slice(0, 2, 3);
    CHECK(largest(model.logits(alone, all_places(alone)) - all.slice(0, 2 * options.context)) < rounding);
  }
}

TEST_CASE("both kinds of position tell the order of tokens") {
  // Without positions, attention over the same earlier tokens in another order is the same for the last one.
  const torch::NoGradGuard no_gradients;
  for (const bool rotary : {false, true}) {
    CAPTURE(rotary);
    ModelOptions options = small(Variant::standard);
    options.layers = 1;
    options.rotary = rotary;
    const Model model(options);
    const Tensor tokens = torch::tensor({{1, 2, 3}}, torch::kLong),
                 swapped = torch::tensor({{2, 1, 3}}, torch::kLong);
    const Tensor last = torch::tensor({2}, torch::kLong);
    CHECK(largest(model.logits(tokens, last) - model.logits(swapped, last)) > 1e-3);
  }
}

TEST_CASE("parameters are as many as the shapes say") {
  for (const Variant variant : kVariants)
    for (const bool per_head : {false, true})
      for (const bool rotary : {false, true})
        for (const bool shift : {false, true}) {
          CAPTURE(variant_name(variant));
          CAPTURE(per_head);
          CAPTURE(rotary);
          CAPTURE(shift);
          ModelOptions options = small(variant);
          options.layers = 3;
          options.per_head = per_head;
          options.rotary = rotary;
          options.token_shift = shift;
          const std::int64_t d = options.dimension, n = d / options.heads;
          // Two LayerNorms, queries, keys, values and output, and a network four times as wide.
          std::int64_t layer = 4 * d + 4 * d * d + 8 * d * d;
          if (shift) layer += d;
          if (evolves(variant)) layer += (per_head ? options.heads : 1) * 2 * options.hidden * n + 1;
          if (variant == Variant::differential) layer += 4 * n / 2 + n;
          const std::int64_t count =
              options.vocabulary * d + (rotary ? 0 : options.context * d) + options.layers * layer + 2 * d;
          const Model model(options);
          CHECK(model.parameter_count() == count);
          std::int64_t sum = 0;
          std::set<std::string> names;
          for (const Parameter& p : model.parameters()) {
            CAPTURE(p.name);
            sum += p.value.numel();
            CHECK(names.insert(p.name).second);
            CHECK(p.value.requires_grad());
            CHECK((p.value.scalar_type() == torch::kFloat));
            const bool of_layer = p.name.find('.') != std::string::npos;
            const bool is_matrix = of_layer && p.value.dim() >= 2 && !ends_with(p.name, ".lambda_vectors");
            CHECK(p.decays == is_matrix);
          }
          CHECK(sum == count);
        }
}

TEST_CASE("variants of a seed start alike, and another seed otherwise") {
  for (const std::int64_t heads : {1, 2}) {
    ModelOptions options = small(Variant::standard);
    options.heads = heads;
    const Model standard(options);
    for (const Variant variant : kVariants) {
      CAPTURE(variant_name(variant));
      options.variant = variant;
      options.seed = 5;
      const Model same(options);
      std::size_t shared = 0;
      for (const Parameter& p : standard.parameters()) {
        CAPTURE(p.name);
        CHECK(torch::equal(p.value, parameter(same, p.name)));
        ++shared;
      }
      CHECK(shared == standard.parameters().size());
      options.variant = Variant::euler;
      const Model euler(options);
      if (evolves(variant))
        for (const Parameter& p : euler.parameters()) CHECK(torch::equal(p.value, parameter(same, p.name)));

      options.variant = variant;
      options.seed = 6;
      const Model other(options);
      for (const Parameter& p : same.parameters())
        if (p.value.dim() >= 2) {
          CAPTURE(p.name);
          CHECK(!torch::equal(p.value, parameter(other, p.name)));
        }
    }
  }
}

TEST_CASE("no two matrices start alike, and their entries have the variance of their inputs") {
  ModelOptions options = small(Variant::leapfrog);
  options.vocabulary = options.dimension = 64;
  options.hidden = 48;
  options.rotary = false;
  options.per_head = true;
  const Model model(options);
  std::set<float> firsts;
  std::size_t matrices = 0;
  for (const Parameter& p : model.parameters()) {
    if (p.value.dim() < 2) continue;
    CAPTURE(p.name);
    firsts.insert(p.value.flatten()[0].item<float>());
    ++matrices;
    const bool embedding = p.name.find('.') == std::string::npos;
    const double variance =
        embedding ? options.embedding_scale * options.embedding_scale
                  : 1.0 / static_cast<double>(ends_with(p.name, "force_out")  ? 48
                                              : ends_with(p.name, "force_in") ? 32
                                                                              : p.value.size(1));
    // The variance of a sample has a standard error of sqrt(2/count) of it; five of them.
    const double count = static_cast<double>(p.value.numel());
    const double sample = p.value.detach().to(torch::kDouble).square().mean().item<double>();
    CHECK(std::abs(sample / variance - 1) < 5 * std::sqrt(2 / count));
  }
  CHECK(firsts.size() == matrices);
}

TEST_CASE("first logits have variance one") {
  const torch::NoGradGuard no_gradients;
  for (const Variant variant : kVariants)
    for (const double scale : {0.05, 0.3}) {
      CAPTURE(variant_name(variant));
      CAPTURE(scale);
      ModelOptions options = small(variant);
      options.vocabulary = 4000;
      options.dimension = 64;
      options.embedding_scale = scale;
      const Tensor tokens = random_tokens(8, options.context, options.vocabulary);
      const Tensor logits = Model(options).logits(tokens, all_places(tokens));
      // The variance of the embedding has a standard error of sqrt(2/(dimension vocabulary)), 0.3 percent; a
      // token's own logit, up to sqrt(dimension), adds dimension/vocabulary = 1.6 percent at most.
      const double variance = logits.to(torch::kDouble).square().mean().item<double>();
      CHECK(variance > 0.985);
      CHECK(variance < 1.031);
    }
}

TEST_CASE("attention weights are probabilities of earlier tokens") {
  const torch::NoGradGuard no_gradients;
  for (const Variant variant : kVariants) {
    CAPTURE(variant_name(variant));
    const ModelOptions options = small(variant);
    const Model model(options);
    unsettle(model);
    const Tensor tokens = random_tokens(3, options.context, options.vocabulary), places = all_places(tokens);
    AttentionMaps maps;
    const Tensor logits = model.logits(tokens, places, &maps);
    CHECK(largest(logits - model.logits(tokens, places)) < 1e-5 * largest(logits));
    const bool twice = variant == Variant::differential;
    REQUIRE(maps.weights.size() == 2);
    CHECK(maps.lambda.size() == (twice ? 2U : 0U));
    for (const Tensor& weights : maps.weights) {
      CHECK((weights.sizes() == torch::IntArrayRef{3, twice ? 4 : 2, options.context, options.context}));
      CHECK(largest(weights.sum(-1) - 1) < 1e-6);  // twelve terms, each rounded
      CHECK(largest(weights.triu(1)) == 0);
      CHECK(weights.min().item<double>() >= 0);
    }
  }
}

TEST_CASE("at step size zero nothing evolves") {
  const torch::NoGradGuard no_gradients;
  ModelOptions options = small(Variant::standard);
  const Model standard(options);
  const Tensor tokens = random_tokens(2, options.context, options.vocabulary), places = all_places(tokens);
  AttentionMaps expected;
  const Tensor logits = standard.logits(tokens, places, &expected);
  for (const Variant variant : {Variant::euler, Variant::leapfrog, Variant::uncoupled})
    for (const int steps : {1, 3}) {
      CAPTURE(variant_name(variant));
      options.variant = variant;
      options.coupling_steps = steps;
      const Model model(options);
      CHECK(model.step_size(1) == doctest::Approx(options.step_size).epsilon(1e-7));
      CHECK(largest(model.logits(tokens, places) - logits) > 1e-3);
      for (int layer = 1; layer <= 2; ++layer)
        parameter(model, "layer" + std::to_string(layer) + ".step_size").zero_();
      CHECK(model.step_size(1) == 0);
      AttentionMaps maps;
      CHECK(largest(model.logits(tokens, places, &maps) - logits) < 1e-6 * largest(logits));
      for (std::size_t layer = 0; layer < 2; ++layer)
        CHECK(largest(maps.weights[layer] - expected.weights[layer]) < 1e-6);
    }
}

TEST_CASE("options that do not fit are refused") {
  const auto refused = [](const std::function<void(ModelOptions&)>& change,
                          Variant variant = Variant::leapfrog) {
    ModelOptions options = small(variant);
    change(options);
    CHECK_THROWS_AS(options.validate(), std::invalid_argument);
    CHECK_THROWS_AS(Model{options}, std::invalid_argument);
  };
  for (const Variant variant : kVariants) {
    CHECK_NOTHROW(small(variant).validate());
    refused([](ModelOptions& o) { o.heads = 3; }, variant);
    refused([](ModelOptions& o) { o.heads = 16; }, variant);  // of dimension 1
    refused([](ModelOptions& o) { o.heads = 0; }, variant);
    refused([](ModelOptions& o) { o.heads = -2; }, variant);
    refused([](ModelOptions& o) { o.dimension = 0; }, variant);
    refused([](ModelOptions& o) { o.dimension = 6; }, variant);  // two heads of dimension 3
    refused([](ModelOptions& o) { o.layers = 0; }, variant);
    refused([](ModelOptions& o) { o.vocabulary = 1; }, variant);
    refused([](ModelOptions& o) { o.context = 1; }, variant);
  }
  for (const Variant variant : {Variant::euler, Variant::leapfrog, Variant::uncoupled}) {
    refused([](ModelOptions& o) { o.hidden = 0; }, variant);
    refused([](ModelOptions& o) { o.coupling_steps = 0; }, variant);
  }
  // Halves of a head of dimension 2 have nothing to turn.
  refused([](ModelOptions& o) { o.heads = 8; }, Variant::differential);
  // Each limit is met.
  ModelOptions least;
  least.vocabulary = least.context = least.dimension = 2;
  least.layers = least.heads = least.hidden = 1;
  for (const Variant variant : {Variant::standard, Variant::euler, Variant::leapfrog, Variant::uncoupled}) {
    least.variant = variant;
    CHECK_NOTHROW(least.validate());
    const Tensor tokens = torch::tensor({{0, 1}}, torch::kLong);
    CHECK(std::isfinite(largest(Model(least).logits(tokens, all_places(tokens)))));
  }
}

TEST_CASE("names of variants differ") {
  std::set<std::string> names;
  for (const Variant variant : kVariants) names.insert(variant_name(variant));
  CHECK(names.size() == std::size(kVariants));
}

namespace {

// The mean loss, the logits in float and all else in double.
Tensor mean_loss(const Model& model, const Tensor& tokens, const Tensor& targets) {
  return torch::cross_entropy_loss(model.logits(tokens, all_places(tokens)).to(torch::kDouble), targets);
}

// Of the loss along a direction in one parameter. The truncation is step^2/6 times a third derivative, for
// the step sizes the largest: up to 400 times the slope. Logits are off by some 1e-7, which averages out over
// their number, and this enters over twice the step: together less than a percent of the slopes here at steps
// of 1e-3 to 3e-3.
double central_difference(const Model& model, const Tensor& value, const Tensor& direction, double step,
                          const Tensor& tokens, const Tensor& targets) {
  const torch::NoGradGuard no_gradients;
  const Tensor start = value.detach().clone();
  Tensor moved = value;
  moved.copy_(start + step * direction);
  const double above = mean_loss(model, tokens, targets).item<double>();
  moved.copy_(start - step * direction);
  const double below = mean_loss(model, tokens, targets).item<double>();
  moved.copy_(start);
  return (above - below) / (2 * step);
}

}  // namespace

TEST_CASE("gradients are those of differences, for every parameter") {
  for (const Variant variant : kVariants)
    for (const bool per_head : {false, true}) {
      ModelOptions options = small(variant);
      options.coupling_steps = 2;
      options.per_head = per_head;
      options.rotary = per_head;
      options.token_shift = true;
      const Model model(options);
      unsettle(model);
      const Tensor tokens = random_tokens(8, options.context, options.vocabulary);
      const Tensor targets = random_tokens(8, options.context, options.vocabulary, 1).flatten();
      mean_loss(model, tokens, targets).backward();
      for (const Parameter& p : model.parameters()) {
        CAPTURE(variant_name(variant));
        CAPTURE(p.name);
        REQUIRE(p.value.grad().defined());
        const Tensor gradient = p.value.grad().detach();
        const double norm = gradient.norm().item<double>();
        REQUIRE(norm > 1e-3);
        const double slope = central_difference(model, p.value, gradient / norm, 0.002, tokens, targets);
        CHECK(std::abs(slope - norm) < 0.01 * norm);
      }
    }
}
