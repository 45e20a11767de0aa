// Maps and tokens with random weights for property tests.
#pragma once

#include <cstdint>

#include "qksolve/coupled/draws.hpp"
#include "qksolve/coupled/map.hpp"

inline qksolve::coupled::Map random_map(qksolve::coupled::Integrator integrator,
                                        qksolve::coupled::CouplingKind kind, int dimension, int steps,
                                        double step_size, std::uint64_t seed) {
  using namespace qksolve::coupled;
  CouplingDraw draw;
  draw.kind = kind;
  draw.dimension = dimension;
  draw.hidden = 1 + static_cast<int>(seed % 5) * dimension / 2;
  draw.scale = 0.5 + 0.3 * static_cast<double>(seed % 4);
  draw.frequency = 0.7 + 0.2 * static_cast<double>(seed % 3);
  draw.seed = seed;
  return {integrator, draw_coupling(draw), step_size, steps};
}

inline qksolve::coupled::State random_state(int tokens, int dimension, std::uint64_t seed) {
  using namespace qksolve::coupled;
  return {draw_normals(random_stream(seed, 0, Purpose::queries), tokens, dimension),
          draw_normals(random_stream(seed, 0, Purpose::keys), tokens, dimension)};
}
