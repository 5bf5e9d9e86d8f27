#include "tabane/tools/mine/bgv/ntt.h"

#include <bit>

#include "tabane/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tabane/tools/mine/bgv/ntt.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for every other target.
#include "tabane/simd/dispatch.h"
#include "tabane/tools/mine/bgv/butterflies-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabane::mine::bgv::HWY_NAMESPACE {

#if TABANE_BGV_DOUBLES

// The first pass over all values leaves parts that the first-level cache holds: they are finished
// one after the other.
std::size_t parts(std::size_t degree) { return std::countr_zero(degree) % 2 == 1 ? 2 : 4; }

bool transform(const Ntt& ntt, std::uint64_t* values) {
  const Field field(ntt.modulus().value());
  const NttTable& table = ntt.forward_table();
  const double* const roots = table.roots.data();
  const std::size_t n = ntt.degree(), count = parts(n);
  if (count == 2) {
    forward_first_level(field, roots, values, n / 2);
  } else {
    forward_pass<true>(field, roots, values, {1, 0, 1}, n / 4);
  }
  for (std::size_t part = 0; part < count; ++part) {
    for (std::size_t groups = count; n / groups > 16; groups *= 4) {
      const std::size_t each = groups / count;
      forward_pass<false>(field, roots, values, {groups, part * each, each}, n / groups / 4);
    }
    const std::size_t blocks = n / 16, each = blocks / count;
    for (std::size_t b = part * each; b < (part + 1) * each; ++b) {
      forward_block(field, roots + blocks + b, &table.last[24 * b], values + 16 * b);
    }
  }
  return true;
}

bool transform_back(const Ntt& ntt, std::uint64_t* values) {
  const Field field(ntt.modulus().value());
  const NttTable& table = ntt.inverse_table();
  const double* const roots = table.roots.data();
  const std::size_t n = ntt.degree(), count = parts(n);
  for (std::size_t part = 0; part < count; ++part) {
    const std::size_t blocks = n / 16, blocks_each = blocks / count;
    for (std::size_t b = part * blocks_each; b < (part + 1) * blocks_each; ++b) {
      inverse_block(field, roots + blocks + b, &table.last[24 * b], values + 16 * b);
    }
    for (std::size_t groups = blocks / 4; groups >= count; groups /= 4) {
      const std::size_t each = groups / count;
      inverse_pass(field, roots, values, {groups, part * each, each}, n / groups / 4);
    }
  }
  const LastFactors factors{table.inverse_degree, table.last_root};
  if (count == 2) {
    inverse_last_level(field, factors, values, n / 2);
  } else {
    inverse_last_pass(field, roots, factors, values, n / 4);
  }
  return true;
}

#else

bool transform(const Ntt&, std::uint64_t*) { return false; }
bool transform_back(const Ntt&, std::uint64_t*) { return false; }

#endif

}  // namespace tabane::mine::bgv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabane::mine::bgv {

HWY_EXPORT(transform);
HWY_EXPORT(transform_back);

void Ntt::forward(std::span<std::uint64_t> values) const {
  TABANE_ASSERT(values.size() == degree_);
  if (!TABANE_DISPATCH(transform)(*this, values.data())) forward_reference(values);
}

void Ntt::inverse(std::span<std::uint64_t> values) const {
  TABANE_ASSERT(values.size() == degree_);
  if (!TABANE_DISPATCH(transform_back)(*this, values.data())) inverse_reference(values);
}

}  // namespace tabane::mine::bgv
#endif
