#include "tabane/tools/matmul/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/tools/matmul/residues.h"

namespace tabane::matmul {
namespace {

constexpr std::size_t kMostTile = std::size_t{1} << 20;
// Operands take no more: memory that is new costs more than reading digits again.
constexpr double kMostOperandBytes = 256 << 20;

std::size_t half(std::size_t size) { return (size + 1) / 2; }

// Cuts at least a tile for each thread, none larger than the caches should see; into whole rows, if
// there are enough.
void cut_tiles(const BlockRequest& request, Blocks& blocks) {
  blocks.tile_rows = blocks.rows;
  blocks.tile_columns = blocks.columns;
  std::size_t tiles = 1;
  while (tiles < static_cast<std::size_t>(request.threads) ||
         blocks.tile_rows * blocks.tile_columns > kMostTile) {
    if (blocks.tile_rows * blocks.tile_columns <= 1) break;
    std::size_t& size =
        blocks.tile_rows > 8 || blocks.tile_columns == 1 ? blocks.tile_rows : blocks.tile_columns;
    size = half(size);
    tiles *= 2;
  }
}

// Bytes without the operands, and of these for one prime.
struct Bytes {
  double others, prime;
};

Bytes bytes_of(const BlockRequest& request, const Blocks& blocks) {
  const auto rows = static_cast<double>(blocks.rows), columns = static_cast<double>(blocks.columns);
  const double tile =
      static_cast<double>(blocks.tile_rows) * static_cast<double>(blocks.tile_columns);
  return {rows * columns * request.element_bytes + request.threads * tile * request.product_bytes +
              request.constant_bytes,
          (rows + columns) * request.line_bytes};
}

// What one of several ranks does, in shares.
struct RankShare {
  double primes = 1, elements = 1;  // it multiplies modulo; it puts together
};

// Multiply-adds of the plain algorithm.
double multiply_adds(const Extent& extent) { return extent.rows * extent.columns * extent.terms; }

// By residues: operands into residues, products, reduction, back.
double residue_ns(const Extent& extent, std::int64_t a_width, std::int64_t b_width, int parts = 1,
                  const RankShare& share = {}) {
  constexpr double kOperation = 0.012, kSmallOperation = 0.02;  // large and small products
  const double primes = primes_needed(static_cast<int>(extent.terms), a_width, b_width);
  const double own_primes = std::ceil(primes * share.primes);
  const double a = extent.rows * extent.terms * parts, b = extent.columns * extent.terms * parts;
  const double c = extent.rows * extent.columns * parts;
  const double digits = a * static_cast<double>(digits_of_width(a_width) + 1) +
                        b * static_cast<double>(digits_of_width(b_width) + 1);
  const double into =
      digits * (0.9 + 2 * own_primes * kSmallOperation) + (a + b) * (8 + own_primes);
  const double products =
      own_primes * ((2 * parts - 1) * (2 * multiply_adds(extent) * kOperation + 500) + c);
  const double back = c * share.elements * (100 + primes * (1.5 + 2 * primes * kSmallOperation));
  const double constants = 5000 + primes * (300 + 8 * primes);
  return into + products + back + constants;
}

// A product of two integers of so many bits, and its sum with another.
double integer_term_ns(double a_bits, double b_bits) {
  const double a = std::ceil(a_bits / 64), b = std::ceil(b_bits / 64);
  // Quadratic up to some 20 limbs, then as Karatsuba's and Toom's methods.
  const double small = std::min(a, b), large = std::max(a, b);
  const double product = small < 24 ? 0.5 * small : 0.5 * 24 * std::pow(small / 24, 0.55);
  return 8 + large * product + (a + b);
}

// By a loop over integers.
double integer_ns(const Extent& extent, std::int64_t a_width, std::int64_t b_width, int parts = 1) {
  const auto a_bits = static_cast<double>(a_width), b_bits = static_cast<double>(b_width);
  return parts * parts * multiply_adds(extent) * integer_term_ns(a_bits, b_bits) +
         parts * extent.rows * extent.columns * 150 +
         parts * (extent.rows + extent.columns) * extent.terms * 30;
}

// By exact sums of so many elements.
double sum_ns(double elements, double terms, double bits, int parts = 1) {
  return elements * (parts * parts * terms * (70 + integer_term_ns(bits, bits)) + 300);
}

// Integers wider than this are left to exact sums, where memory would not hold them.
constexpr std::int64_t kMostWidth = std::int64_t{1} << 22;
constexpr double kNever = std::numeric_limits<double>::infinity();

// The width of each row or column, the widest of all groups, or kMostWidth + 1 if residues cannot
// hold it.
std::vector<std::int64_t> widths_of(const std::vector<TermGroup>& groups,
                                    std::vector<ExponentSpan> TermGroup::*side) {
  std::vector<std::int64_t> widths((groups[0].*side).size());
  for (const TermGroup& group : groups) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const ExponentSpan& span = (group.*side)[i];
      const bool fits = span.finite && span.width() <= kMostWidth;
      widths[i] = std::max(widths[i], fits ? span.width() : kMostWidth + 1);
    }
  }
  return widths;
}

std::int64_t widest(const std::vector<ExponentSpan>& spans, const std::vector<int>& chosen) {
  std::int64_t most = 0;
  for (const int i : chosen) most = std::max(most, spans[i].width());
  return most;
}

// The cost of groups of which the rows and columns wider than these are outliers.
struct Estimate {
  double ns = kNever;
  Method method = Method::residues;
  std::int64_t a_limit = 0, b_limit = 0;
};

class Planner {
 public:
  Planner(const Operands& operands, mpfr_prec_t bits, Method method)
      : operands_(operands), bits_(static_cast<double>(bits)), method_(method) {}

  // For groups of any terms: the best limits of width.
  Estimate estimate(const std::vector<TermGroup>& groups) const {
    const std::vector<std::int64_t> a = sorted(widths_of(groups, &TermGroup::a));
    const std::vector<std::int64_t> b = sorted(widths_of(groups, &TermGroup::b));
    Estimate best;
    for (const std::size_t rows : steps(a)) {
      for (const std::size_t columns : steps(b)) {
        consider(groups, a, b, rows, columns, best);
      }
    }
    return best;
  }

 private:
  static std::vector<std::int64_t> sorted(std::vector<std::int64_t> widths) {
    std::ranges::sort(widths);
    return widths;
  }
  // How many of the narrowest lines to take: all that can be taken, or some less.
  static std::vector<std::size_t> steps(const std::vector<std::int64_t>& widths) {
    const auto most =
        static_cast<std::size_t>(std::ranges::upper_bound(widths, kMostWidth) - widths.begin());
    std::vector<std::size_t> counts{most};
    for (std::size_t less = 1; less < most; less *= 2) {
      if (widths[most - less - 1] < widths[most - 1]) counts.push_back(most - less);
    }
    return counts;
  }

  void consider(const std::vector<TermGroup>& groups, const std::vector<std::int64_t>& a,
                const std::vector<std::int64_t>& b, std::size_t rows, std::size_t columns,
                Estimate& best) const {
    const std::int64_t a_width = rows == 0 ? 0 : a[rows - 1];
    const std::int64_t b_width = columns == 0 ? 0 : b[columns - 1];
    const auto taken = static_cast<double>(rows) * static_cast<double>(columns);
    const double all = static_cast<double>(a.size()) * static_cast<double>(b.size());
    const double outliers = sum_ns(all - taken, operands_.terms(), bits_, operands_.parts);
    const auto offer = [&](Method method, double ns) {
      const bool wanted = method_ == Method::automatic || method_ == method;
      if (wanted && ns + outliers < best.ns) best = {ns + outliers, method, a_width, b_width};
    };
    Extent extent{static_cast<double>(rows), static_cast<double>(columns),
                  static_cast<double>(operands_.terms())};
    if (groups.size() == 1) {
      offer(Method::integers, integer_ns(extent, a_width, b_width, operands_.parts));
      offer(Method::sums, sum_ns(taken, extent.terms, bits_, operands_.parts));
    }
    double ns = groups.size() == 1 ? 0 : taken * 100 * static_cast<double>(groups.size());
    for (const TermGroup& group : groups) {
      extent.terms = static_cast<double>(group.terms.index.size());
      ns += residue_ns(extent, a_width, b_width, operands_.parts);
    }
    offer(Method::residues, ns);
  }

  const Operands& operands_;
  double bits_;
  Method method_;
};

TermGroup make_group(const Operands& operands, ShiftedTerms terms) {
  TermGroup group{std::move(terms), {}, {}};
  group.a = spans_of(Factor::a, operands, group.terms);
  group.b = spans_of(Factor::b, operands, group.terms);
  return group;
}

// How large terms are: the largest exponents in a and in b, relative to their lines'.
struct Grading {
  std::vector<std::int64_t> a, b;
  std::int64_t sum(std::size_t t) const { return a[t] + b[t]; }
};

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min() / 4;

Grading grading_of(const Operands& operands, const TermGroup& all) {
  const auto terms = static_cast<std::size_t>(operands.terms());
  Grading grading{std::vector<std::int64_t>(terms, kNone), std::vector<std::int64_t>(terms, kNone)};
  for (const Factor side : {Factor::a, Factor::b}) {
    std::vector<std::int64_t>& most = side == Factor::a ? grading.a : grading.b;
    operands.for_each(side, all.terms.index, [&](int line, int t, mpfr_srcptr x) {
      if (!mpfr_regular_p(x)) return;
      most[t] = std::max<std::int64_t>(most[t], mpfr_get_exp(x) - all.spans(side)[line].high);
    });
  }
  return grading;
}

// Cuts the terms into groups whose sizes differ by little, after shifting what a and b share.
std::vector<TermGroup> cut(const Operands& operands, const TermGroup& all, const Grading& grading,
                           int count) {
  constexpr std::int64_t kMostRange = std::int64_t{1} << 40;
  std::int64_t least = kMostRange;
  for (std::size_t t = 0; t < grading.a.size(); ++t) {
    if (grading.a[t] != kNone && grading.b[t] != kNone) least = std::min(least, grading.sum(t));
  }
  if (least < -kMostRange || least >= 0) return {};
  std::vector<ShiftedTerms> parts(count);
  for (std::size_t t = 0; t < grading.a.size(); ++t) {
    if (grading.a[t] == kNone || grading.b[t] == kNone) continue;  // its products are zeros
    const auto part = static_cast<std::size_t>(grading.sum(t) * count / (least - 1));
    parts[part].index.push_back(static_cast<int>(t));
    parts[part].shift.push_back((grading.b[t] - grading.a[t]) / 2);
  }
  std::vector<TermGroup> groups;
  for (ShiftedTerms& terms : parts) {
    if (terms.index.empty()) continue;
    TermGroup& group = groups.emplace_back(make_group(operands, std::move(terms)));
    for (std::size_t i = 0; i < all.a.size(); ++i) group.a[i].finite = all.a[i].finite;
    for (std::size_t j = 0; j < all.b.size(); ++j) group.b[j].finite = all.b[j].finite;
  }
  return groups;
}

// Whether some rows or columns are wider than those of random numbers of as many bits.
bool is_graded(const Operands& operands, const TermGroup& all) {
  constexpr std::int64_t kRandom = 64;
  const auto wide = [](const std::vector<ExponentSpan>& spans, std::int64_t bits) {
    return std::ranges::any_of(
        spans, [&](const ExponentSpan& span) { return span.width() > bits + kRandom; });
  };
  return wide(all.a, operands.bits_of(operands.a)) || wide(all.b, operands.bits_of(operands.b));
}

void sort_lines(const std::vector<std::int64_t>& widths, std::int64_t limit, std::vector<int>& in,
                std::vector<int>& outliers) {
  for (std::size_t i = 0; i < widths.size(); ++i) {
    (widths[i] <= limit ? in : outliers).push_back(static_cast<int>(i));
  }
}

}  // namespace

Blocks choose_blocks(const BlockRequest& request) {
  Blocks blocks{std::max<std::size_t>(request.rows, 1), std::max<std::size_t>(request.columns, 1)};
  for (;;) {
    cut_tiles(request, blocks);
    const Bytes bytes = bytes_of(request, blocks);
    const double room =
        std::min(request.memory - bytes.others, std::max(kMostOperandBytes, bytes.prime));
    const double fit = bytes.prime > 0 ? room / bytes.prime : static_cast<double>(request.primes);
    if (room >= 0 && fit >= 1) {
      blocks.primes = static_cast<std::size_t>(std::min(fit, static_cast<double>(request.primes)));
      // As many at a time, but for the last ones.
      const std::size_t times = (request.primes + blocks.primes - 1) / blocks.primes;
      blocks.primes = (request.primes + times - 1) / times;
      blocks.bytes = bytes.others + static_cast<double>(blocks.primes) * bytes.prime;
      return blocks;
    }
    std::size_t& larger = blocks.rows > blocks.columns ? blocks.rows : blocks.columns;
    if (larger == 1) {
      throw core::UsageError(
          "{} of memory for a rank are too little: residues of one row and one column take {}; "
          "give more by --memory, or take fewer ranks",
          core::format_bytes(static_cast<std::uint64_t>(request.memory)),
          core::format_bytes(static_cast<std::uint64_t>(std::ceil(bytes.others + bytes.prime))));
    }
    larger = half(larger);
  }
}

double blocks_ns(const Extent& extent, std::int64_t a_width, std::int64_t b_width, int parts,
                 int grid_rows, int grid_columns) {
  return residue_ns(
      {std::ceil(extent.rows / grid_rows), std::ceil(extent.columns / grid_columns), extent.terms},
      a_width, b_width, parts);
}

double spread_primes_ns(const Extent& extent, std::int64_t a_width, std::int64_t b_width, int parts,
                        int ranks) {
  constexpr double kByte = 2;  // packed, sent, and put into memory that is new
  const double primes = primes_needed(static_cast<int>(extent.terms), a_width, b_width);
  const double bytes = 4 * primes * extent.rows * extent.columns * parts / ranks;
  return residue_ns(extent, a_width, b_width, parts, {1.0 / ranks, 1.0 / ranks}) + kByte * bytes;
}

ProductPlan make_plan(const Operands& operands, mpfr_prec_t bits, Method method) {
  const Planner planner(operands, bits, method);
  ProductPlan plan;
  plan.groups.push_back(make_group(operands, all_terms(operands.terms())));
  Estimate best = planner.estimate(plan.groups);
  const TermGroup all = plan.groups[0];  // the groups may be replaced below
  if (method != Method::integers && method != Method::sums && is_graded(operands, all)) {
    const Grading grading = grading_of(operands, all);
    for (int count = 1; count <= 64; count *= 2) {
      std::vector<TermGroup> groups = cut(operands, all, grading, count);
      if (groups.empty()) break;
      const Estimate estimate = planner.estimate(groups);
      if (estimate.ns >= best.ns) continue;
      best = estimate;
      plan.groups = std::move(groups);
    }
  }
  plan.method = method == Method::sums ? method : best.method;
  sort_lines(widths_of(plan.groups, &TermGroup::a), best.a_limit, plan.rows, plan.outlier_rows);
  sort_lines(widths_of(plan.groups, &TermGroup::b), best.b_limit, plan.columns,
             plan.outlier_columns);
  for (TermGroup& group : plan.groups) {
    group.a_width = widest(group.a, plan.rows);
    group.b_width = widest(group.b, plan.columns);
  }
  return plan;
}

}  // namespace tabane::matmul
