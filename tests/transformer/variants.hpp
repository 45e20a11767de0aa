// Small models of every kind, and their parameters by name.
#pragma once

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "qksolve/transformer/model.hpp"

inline torch::Tensor parameter(const qksolve::transformer::Model& model, const std::string& name) {
  for (const qksolve::transformer::Parameter& p : model.parameters())
    if (p.name == name) return p.value;
  throw std::out_of_range("no parameter " + name);
}

inline bool ends_with(const std::string& name, const std::string& end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

// centre + size sin(1.7 i + phase), without any two entries alike.
inline torch::Tensor wave(torch::IntArrayRef shape, double centre, double size, double phase) {
  torch::Tensor values = at::empty(shape);
  float* entries = values.data_ptr<float>();
  for (std::int64_t i = 0; i < values.numel(); ++i)
    entries[i] = static_cast<float>(centre + size * std::sin(1.7 * static_cast<double>(i) + phase));
  return values;
}

// Whatever starts at a constant, another one in each layer, so that a comparison notices where it is left
// out.
inline void unsettle(const qksolve::transformer::Model& model) {
  const c10::NoGradGuard no_gradients;
  double phase = 0.3;
  for (const qksolve::transformer::Parameter& p : model.parameters()) {
    phase += 0.4;
    torch::Tensor value = p.value;
    if (ends_with(p.name, ".step_size")) value.fill_(0.35 - 0.04 * phase);
    if (ends_with(p.name, ".mix")) value.copy_(wave(value.sizes(), 0.1, 0.8, phase));
    if (ends_with(p.name, ".lambda_vectors")) value.copy_(wave(value.sizes(), 0.1, 0.4, phase));
    if (ends_with(p.name, "_gain")) value.mul_(wave(value.sizes(), 1, 0.5, phase));
    if (ends_with(p.name, "_bias")) value.copy_(wave(value.sizes(), 0, 0.3, phase));
  }
}
