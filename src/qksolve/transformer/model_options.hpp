// What a model is: its attention and its sizes. Without LibTorch, for those who only start a training.
#pragma once

#include <cstdint>
#include <string>

namespace qksolve::transformer {

// standard: no evolution. euler, leapfrog, uncoupled: the maps of coupled/map.hpp, with a learned step size.
// uncoupled has the parameters of the coupled ones, and no exchange between queries and keys. differential:
// of Ye et al. (arXiv 2410.05258), the difference of two softmax maps, each of half a head's dimension.
enum class Variant { standard, euler, leapfrog, uncoupled, differential };
inline constexpr Variant kVariants[] = {Variant::standard, Variant::euler, Variant::leapfrog,
                                        Variant::uncoupled, Variant::differential};
std::string variant_name(Variant variant);
// Whether queries and keys evolve.
bool evolves(Variant variant);

struct ModelOptions {
  Variant variant = Variant::standard;
  std::int64_t vocabulary = 256, context = 64;  // >= 2; the context is the longest sequence
  std::int64_t layers = 2, dimension = 64;      // >= 1; dimension = heads x head dimension, the latter even
  std::int64_t heads = 1;
  std::int64_t hidden = 64;  // of the force
  int coupling_steps = 1;    // >= 1
  double step_size = 0.3;    // initial
  bool per_head = false;     // a force for every head
  bool rotary = true;        // else learned positions
  bool token_shift = false;  // attention reads x_t + m x_{t-1}, m learned for each channel, at first 1/2
  double embedding_scale = 0.3;
  std::uint64_t seed = 0;
  // Throws std::invalid_argument.
  void validate() const;
};

}  // namespace qksolve::transformer
