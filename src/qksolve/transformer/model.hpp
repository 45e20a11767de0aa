// A decoder-only transformer whose queries and keys may evolve together before attention is scored.
//
// Gahtan & Bronstein, "Coupled Query-Key Dynamics for Attention" (arXiv 2604.01683), give the maps and the
// two-layer force with SiLU and without bias. Everything else here is our choice: pre-norm blocks (LayerNorm,
// a GELU network four times as wide, no biases in the linear maps), tied embeddings, the evolution before
// rotary positions enter, the force of one head's dimension shared over heads unless per_head, initial
// values.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "qksolve/transformer/model_options.hpp"

namespace qksolve::transformer {

struct Parameter {
  std::string name;
  torch::Tensor value;  // float, requires a gradient
  bool decays;          // by weight decay: the matrices of linear maps do
};

// Attention weights of every layer, where they are wanted: sequences x heads x context x context
// (differential: twice as many heads, the maps and those that are subtracted in turn) and, for differential
// attention, the factor lambda of the latter.
struct AttentionMaps {
  std::vector<torch::Tensor> weights;
  std::vector<double> lambda;
};

class Model {
 public:
  // Initial values are drawn from the seed by name, so that variants start with the same values of what they
  // share: N(0, embedding_scale^2) for embeddings, N(0, 1/inputs) for matrices. The gain before the output
  // makes first logits of variance 1.
  explicit Model(const ModelOptions& options);

  const ModelOptions& options() const { return options_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::int64_t parameter_count() const;
  // The step size that a layer (from 0) has learned; variants that evolve.
  double step_size(std::int64_t layer) const;

  // Logits at the given flat places (sequence * context + position) of tokens, sequences x context, both
  // integer: places x vocabulary.
  torch::Tensor logits(const torch::Tensor& tokens, const torch::Tensor& places,
                       AttentionMaps* maps = nullptr) const;

  // The two halves of it: places x dimension, then places x vocabulary.
  torch::Tensor features(const torch::Tensor& tokens, const torch::Tensor& places,
                         AttentionMaps* maps = nullptr) const;
  torch::Tensor scores(const torch::Tensor& features) const;

  // The attention of one layer: what it adds for inputs x, sequences x context x dimension.
  torch::Tensor attention(std::int64_t layer, const torch::Tensor& x, AttentionMaps* maps = nullptr) const;

 private:
  struct Layer {
    torch::Tensor attention_gain, attention_bias, network_gain, network_bias;
    torch::Tensor query_key_value, output;  // 3 dimension x dimension (queries, keys, values; head by head)
    torch::Tensor expand, contract;
    torch::Tensor mix;                             // token shift
    torch::Tensor force_in, force_out, step_size;  // (heads x) hidden x head dimension and transposed
    torch::Tensor lambda_vectors, head_gain;       // differential
    double lambda_initial = 0;
  };
  torch::Tensor& add(const std::string& name, torch::Tensor value, bool decays);
  torch::Tensor normals(const std::string& name, const std::vector<std::int64_t>& shape,
                        double deviation) const;
  torch::Tensor force(const Layer& layer, const torch::Tensor& x) const;
  void evolve(const Layer& layer, torch::Tensor& queries, torch::Tensor& keys) const;

  ModelOptions options_;
  std::vector<Parameter> parameters_;
  std::vector<Layer> layers_;
  torch::Tensor embedding_, positions_, final_gain_, final_bias_;
  torch::Tensor rotation_, mask_;
};

}  // namespace qksolve::transformer
