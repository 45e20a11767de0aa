#include "qksolve/transformer/model.hpp"

#include <torch/torch.h>

#include <cmath>
#include <stdexcept>

#include "qksolve/coupled/map.hpp"
#include "qksolve/numerics/random_normals.hpp"

namespace qksolve::transformer {

using torch::Tensor;

namespace {

constexpr double kRotaryBase = 10000;
constexpr double kWidening = 4;

coupled::Integrator integrator(Variant variant) {
  switch (variant) {
    case Variant::euler:
      return coupled::Integrator::euler;
    case Variant::leapfrog:
      return coupled::Integrator::leapfrog;
    case Variant::uncoupled:
      return coupled::Integrator::uncoupled;
    default:
      return coupled::Integrator::standard;
  }
}

// FNV-1a: the stream of a parameter depends on its name alone.
std::uint64_t hash(const std::string& name) {
  std::uint64_t value = 0xcbf29ce484222325ULL;
  for (const char c : name) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return value;
}

// cos + i sin of position times frequency, context x 1 x pairs.
Tensor rotations(std::int64_t context, std::int64_t head_dimension) {
  const Tensor pair = torch::arange(head_dimension / 2, torch::kDouble);
  const Tensor frequency =
      torch::exp(pair * (-2 * std::log(kRotaryBase) / static_cast<double>(head_dimension)));
  const Tensor angle = torch::arange(context, torch::kDouble).unsqueeze(1) * frequency;
  return torch::polar(torch::ones_like(angle), angle).to(torch::kComplexFloat).unsqueeze(1);
}

// x, ... x context x heads x even, its neighbours turned as complex numbers.
Tensor rotated(const Tensor& x, const Tensor& rotation) {
  const Tensor pairs = torch::view_as_complex(x.unflatten(-1, {-1, 2}));
  return torch::view_as_real(pairs * rotation.narrow(0, 0, x.size(-3))).flatten(-2);
}

}  // namespace

std::string variant_name(Variant variant) {
  return variant == Variant::differential ? "differential" : coupled::integrator_name(integrator(variant));
}

bool evolves(Variant variant) { return integrator(variant) != coupled::Integrator::standard; }

void ModelOptions::validate() const {
  auto require = [](bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
  };
  require(vocabulary >= 2 && context >= 2 && layers >= 1 && heads >= 1,
          "a model needs tokens, layers and heads");
  require(dimension >= 1 && dimension % heads == 0, "heads must divide the dimension");
  const std::int64_t part = variant == Variant::differential ? 2 : 1;
  require(dimension / heads % (2 * part) == 0,
          "the dimension of a head must be even, for differential attention a multiple of four");
  require(embedding_scale > 0 && std::isfinite(embedding_scale) && std::isfinite(step_size),
          "the initial values must be finite, that of the embeddings positive");
  require(hidden >= 1 && coupling_steps >= 1, "the force needs hidden units and steps");
}

Tensor Model::normals(const std::string& name, const std::vector<std::int64_t>& shape,
                      double deviation) const {
  Tensor values = torch::empty(shape, torch::kDouble);
  numerics::fill_normals({options_.seed, 0, 0, hash(name)}, 0, values.data_ptr<double>(),
                         static_cast<std::size_t>(values.numel()));
  return (values * deviation).to(torch::kFloat);
}

Tensor& Model::add(const std::string& name, Tensor value, bool decays) {
  parameters_.push_back({name, std::move(value), decays});
  parameters_.back().value.set_requires_grad(true);
  return parameters_.back().value;
}

Model::Model(const ModelOptions& options) : options_(options) {
  options.validate();
  const std::int64_t d = options.dimension, head = d / options.heads,
                     wide = static_cast<std::int64_t>(kWidening) * d;
  auto matrix = [&](const std::string& name, std::int64_t outputs, std::int64_t inputs) {
    return add(name, normals(name, {outputs, inputs}, 1 / std::sqrt(static_cast<double>(inputs))), true);
  };
  auto constant = [&](const std::string& name, const std::vector<std::int64_t>& shape, double value) {
    return add(name, torch::full(shape, value, torch::kFloat), false);
  };
  embedding_ =
      add("embedding", normals("embedding", {options.vocabulary, d}, options.embedding_scale), false);
  if (!options.rotary)
    positions_ = add("positions", normals("positions", {options.context, d}, options.embedding_scale), false);
  for (std::int64_t i = 0; i < options.layers; ++i) {
    const std::string at = "layer" + std::to_string(i + 1) + ".";
    Layer layer;
    layer.attention_gain = constant(at + "attention_gain", {d}, 1);
    layer.attention_bias = constant(at + "attention_bias", {d}, 0);
    layer.query_key_value = matrix(at + "query_key_value", 3 * d, d);
    layer.output = matrix(at + "output", d, d);
    layer.network_gain = constant(at + "network_gain", {d}, 1);
    layer.network_bias = constant(at + "network_bias", {d}, 0);
    layer.expand = matrix(at + "expand", wide, d);
    layer.contract = matrix(at + "contract", d, wide);
    if (options.token_shift) layer.mix = constant(at + "mix", {d}, 0.5);
    if (evolves(options.variant)) {
      const std::int64_t forces = options.per_head ? options.heads : 1;
      const std::string in = at + "force_in", out = at + "force_out";
      layer.force_in = add(
          in, normals(in, {forces, options.hidden, head}, 1 / std::sqrt(static_cast<double>(head))), true);
      layer.force_out = add(
          out,
          normals(out, {forces, head, options.hidden}, 1 / std::sqrt(static_cast<double>(options.hidden))),
          true);
      layer.step_size = constant(at + "step_size", {}, options.step_size);
    }
    if (options.variant == Variant::differential) {
      layer.lambda_initial = 0.8 - 0.6 * std::exp(-0.3 * static_cast<double>(i));
      const std::string vectors = at + "lambda_vectors";
      layer.lambda_vectors = add(vectors, normals(vectors, {4, head / 2}, 0.1), false);
      layer.head_gain = constant(at + "head_gain", {head}, 1);
    }
    layers_.push_back(layer);
  }
  final_gain_ =
      constant("final_gain", {d}, 1 / (options.embedding_scale * std::sqrt(static_cast<double>(d))));
  final_bias_ = constant("final_bias", {d}, 0);
  if (options.rotary)
    rotation_ = rotations(options.context, options.variant == Variant::differential ? head / 2 : head);
  mask_ = torch::full({options.context, options.context}, -std::numeric_limits<float>::infinity()).triu(1);
}

std::int64_t Model::parameter_count() const {
  std::int64_t count = 0;
  for (const Parameter& p : parameters_) count += p.value.numel();
  return count;
}

double Model::step_size(std::int64_t layer) const {
  return layers_.at(static_cast<std::size_t>(layer)).step_size.item<double>();
}

// f(x) = W2 silu(W1 x) of every head; x: sequences x context x heads x head dimension.
Tensor Model::force(const Layer& layer, const Tensor& x) const {
  if (!options_.per_head)
    return torch::linear(torch::silu(torch::linear(x, layer.force_in[0])), layer.force_out[0]);
  const Tensor by_head = x.flatten(0, 1).transpose(0, 1);  // heads x tokens x head dimension
  const Tensor inner = torch::silu(torch::bmm(by_head, layer.force_in.transpose(1, 2)));
  return torch::bmm(inner, layer.force_out.transpose(1, 2)).transpose(0, 1).view_as(x);
}

void Model::evolve(const Layer& layer, Tensor& queries, Tensor& keys) const {
  // Stages of step size 1: their coefficients are proportional to the step size.
  coupled::Map map;
  map.integrator = integrator(options_.variant);
  map.step_size = 1;
  map.steps = options_.coupling_steps;
  for (const coupled::Stage& stage : coupled::stages(map)) {
    Tensor query_force, key_force;
    if (stage.kick != 0 || stage.query_force != 0) query_force = force(layer, queries);
    if (stage.key_force != 0) key_force = force(layer, keys);
    auto move = [&](Tensor& of, const Tensor& by, double coefficient) {
      of = torch::addcmul(of, by, layer.step_size, coefficient);
    };
    if (stage.drift != 0) move(queries, keys, stage.drift);
    if (stage.query_force != 0) move(queries, query_force, stage.query_force);
    if (stage.kick != 0) move(keys, query_force, stage.kick);
    if (stage.key_force != 0) move(keys, key_force, stage.key_force);
  }
}

Tensor Model::attention(std::int64_t index, const Tensor& given, AttentionMaps* maps) const {
  const Layer& layer = layers_.at(static_cast<std::size_t>(index));
  const std::int64_t sequences = given.size(0), T = given.size(1), heads = options_.heads,
                     head = options_.dimension / heads;
  Tensor x = given;
  if (options_.token_shift)
    x = torch::addcmul(x, torch::constant_pad_nd(x.narrow(1, 0, T - 1), {0, 0, 1, 0}), layer.mix);
  const auto qkv = torch::linear(x, layer.query_key_value).view({sequences, T, 3, heads, head}).unbind(2);
  Tensor q = qkv[0], k = qkv[1];
  const Tensor v = qkv[2].transpose(1, 2);  // sequences x heads x context x head dimension
  const bool differential = options_.variant == Variant::differential;
  if (evolves(options_.variant)) evolve(layer, q, k);
  const std::int64_t maps_a_head = differential ? 2 : 1, part = head / maps_a_head;
  if (differential) {
    q = q.reshape({sequences, T, 2 * heads, part});
    k = k.reshape({sequences, T, 2 * heads, part});
  }
  if (options_.rotary) {
    q = rotated(q, rotation_);
    k = rotated(k, rotation_);
  }
  // One batch of sequences x heads.
  const std::int64_t all = sequences * heads * maps_a_head;
  auto batched = [&](const Tensor& a) { return a.transpose(1, 2).reshape({all, T, part}); };
  const Tensor mask = mask_.narrow(0, 0, T).narrow(1, 0, T);
  Tensor weights = torch::softmax(torch::baddbmm(mask, batched(q), batched(k).transpose(1, 2), 1,
                                                 1 / std::sqrt(static_cast<double>(part))),
                                  -1);
  if (maps != nullptr) maps->weights.push_back(weights.detach().view({sequences, heads * maps_a_head, T, T}));
  Tensor read;
  if (differential) {
    const Tensor& l = layer.lambda_vectors;
    const Tensor lambda =
        torch::exp(torch::dot(l[0], l[1])) - torch::exp(torch::dot(l[2], l[3])) + layer.lambda_initial;
    if (maps != nullptr) maps->lambda.push_back(lambda.item<double>());
    const auto both = weights.view({sequences * heads, 2, T, T}).unbind(1);
    const Tensor one = torch::addcmul(both[0], both[1], lambda, -1);
    read = torch::bmm(one, v.reshape({sequences * heads, T, head}));
    const Tensor size = torch::rsqrt(read.square().mean(-1, true) + 1e-5);
    read = read * size * layer.head_gain * (1 - layer.lambda_initial);
  } else {
    read = torch::bmm(weights, v.reshape({sequences * heads, T, head}));
  }
  read = read.view({sequences, heads, T, head}).transpose(1, 2).reshape({sequences, T, options_.dimension});
  return torch::linear(read, layer.output);
}

Tensor Model::features(const Tensor& tokens, const Tensor& places, AttentionMaps* maps) const {
  const std::int64_t d = options_.dimension;
  Tensor x = torch::embedding(embedding_, tokens);
  if (!options_.rotary) x = x + positions_.narrow(0, 0, tokens.size(1));
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    x = x + attention(static_cast<std::int64_t>(i),
                      torch::layer_norm(x, {d}, layer.attention_gain, layer.attention_bias), maps);
    const Tensor normed = torch::layer_norm(x, {d}, layer.network_gain, layer.network_bias);
    x = x + torch::linear(torch::gelu(torch::linear(normed, layer.expand)), layer.contract);
  }
  const Tensor scored = x.flatten(0, 1).index_select(0, places);
  return torch::layer_norm(scored, {d}, final_gain_, final_bias_);
}

Tensor Model::scores(const Tensor& features) const { return torch::linear(features, embedding_); }

Tensor Model::logits(const Tensor& tokens, const Tensor& places, AttentionMaps* maps) const {
  return scores(features(tokens, places, maps));
}

}  // namespace qksolve::transformer
