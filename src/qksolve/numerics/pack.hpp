// N doubles side by side in one vector value: arithmetic, comparisons and selection act on each lane by
// itself.
//
// The operators are those of the vector extension of GCC and Clang, which the compiler maps to whatever
// vector registers the target has. A comparison gives a lane mask for `select`, `any` and `all`.
#pragma once

#include <cmath>
#include <cstdint>

namespace qksolve::numerics {

inline constexpr int kLanes = 8;
using Pack [[gnu::vector_size(kLanes * sizeof(double))]] = double;
using Mask [[gnu::vector_size(kLanes * sizeof(double))]] = std::int64_t;

inline Pack broadcast(double value) { return Pack{} + value; }
inline Pack load(const double* from) {
  Pack p;
  __builtin_memcpy(&p, from, sizeof p);
  return p;
}
inline void store(double* to, Pack p) { __builtin_memcpy(to, &p, sizeof p); }

inline Pack select(Mask mask, Pack yes, Pack no) { return mask ? yes : no; }
inline Pack max(Pack a, Pack b) { return a > b ? a : b; }
inline Pack min(Pack a, Pack b) { return a < b ? a : b; }
inline Pack abs(Pack a) { return a < 0.0 ? -a : a; }

inline Pack square_root(Pack p) {
  for (int i = 0; i < kLanes; ++i) p[i] = std::sqrt(p[i]);
  return p;
}

inline bool any(Mask mask) {
  std::int64_t bits = 0;
  for (int i = 0; i < kLanes; ++i) bits |= mask[i];
  return bits != 0;
}
inline bool all(Mask mask) { return !any(~mask); }

inline double sum(Pack p) {
  double total = 0.0;
  for (int i = 0; i < kLanes; ++i) total += p[i];
  return total;
}
inline double maximum(Pack p) {
  double best = p[0];
  for (int i = 1; i < kLanes; ++i) best = p[i] > best ? p[i] : best;
  return best;
}

// exp of each lane, relative error below 4e-16 on [-700, 700]; arguments beyond are clamped to that interval.
inline Pack exp(Pack x) {
  x = min(max(x, broadcast(-700.0)), broadcast(700.0));
  // x = k ln 2 + r with |r| <= ln(2)/2. Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits.
  constexpr double kShift = 0x1.8p52, kLog2E = 0x1.71547652b82fep0;
  constexpr double kLn2High = 0x1.62e42fefa3800p-1, kLn2Low = 0x1.ef35793c76730p-45;
  const Pack shifted = x * kLog2E + kShift;
  const Pack k = shifted - kShift;
  const Pack r = (x - k * kLn2High) - k * kLn2Low;
  // Taylor series to order 13: the remainder is below 5e-18 on that interval. Even and odd parts in r^2 run
  // in parallel.
  const Pack r2 = r * r;
  Pack even = broadcast(1.0 / 479001600.0), odd = broadcast(1.0 / 6227020800.0);
  constexpr double kEven[] = {1.0 / 3628800.0, 1.0 / 40320.0, 1.0 / 720.0, 1.0 / 24.0, 1.0 / 2.0, 1.0};
  constexpr double kOdd[] = {1.0 / 39916800.0, 1.0 / 362880.0, 1.0 / 5040.0, 1.0 / 120.0, 1.0 / 6.0, 1.0};
  for (int i = 0; i < 6; ++i) {
    even = even * r2 + kEven[i];
    odd = odd * r2 + kOdd[i];
  }
  Mask bits;
  __builtin_memcpy(&bits, &shifted, sizeof bits);
  bits = (bits << 52) + (std::int64_t{1023} << 52);  // the shift drops all but the low bits
  Pack power;
  __builtin_memcpy(&power, &bits, sizeof power);
  return (even + r * odd) * power;
}

}  // namespace qksolve::numerics
