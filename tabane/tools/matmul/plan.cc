#include "tabane/tools/matmul/plan.h"

#include <algorithm>
#include <limits>

#include "tabane/tools/matmul/model.h"

namespace tabane::matmul {
namespace {

// Integers wider than this are left to exact sums, where memory would not hold them.
constexpr std::int64_t kMostWidth = std::int64_t{1} << 22;
constexpr double kNever = std::numeric_limits<double>::infinity();

// Of each line the widest of all pieces, or kMostWidth + 1 if residues cannot hold it.
std::vector<std::int64_t> widths_of(const std::vector<Piece>& pieces,
                                    std::vector<Line> Piece::*side) {
  std::vector<std::int64_t> widths((pieces[0].*side).size());
  for (const Piece& piece : pieces) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const Line& line = (piece.*side)[i];
      const bool fits = line.finite && line.width() <= kMostWidth;
      widths[i] = std::max(widths[i], fits ? line.width() : kMostWidth + 1);
    }
  }
  return widths;
}

std::int64_t widest(const std::vector<Line>& lines, const std::vector<int>& chosen) {
  std::int64_t most = 0;
  for (const int i : chosen) most = std::max(most, lines[static_cast<std::size_t>(i)].width());
  return most;
}

// The cost of pieces of which the lines wider than these are computed apart.
struct Estimate {
  double ns = kNever;
  Method method = Method::residues;
  std::int64_t a_limit = 0, b_limit = 0;
};

class Planner {
 public:
  Planner(const Operands& operands, mpfr_prec_t bits, Method method)
      : operands_(operands), bits_(static_cast<double>(bits)), method_(method) {}

  // For pieces of any terms: the best limits of width.
  Estimate estimate(const std::vector<Piece>& pieces) const {
    const std::vector<std::int64_t> a = sorted(widths_of(pieces, &Piece::a));
    const std::vector<std::int64_t> b = sorted(widths_of(pieces, &Piece::b));
    Estimate best;
    for (const std::size_t rows : steps(a)) {
      for (const std::size_t columns : steps(b)) {
        consider(pieces, a, b, rows, columns, best);
      }
    }
    return best;
  }

 private:
  static std::vector<std::int64_t> sorted(std::vector<std::int64_t> widths) {
    std::sort(widths.begin(), widths.end());
    return widths;
  }
  // How many of the narrowest lines to take: all that can be taken, or some less.
  static std::vector<std::size_t> steps(const std::vector<std::int64_t>& widths) {
    const auto most = static_cast<std::size_t>(
        std::upper_bound(widths.begin(), widths.end(), kMostWidth) - widths.begin());
    std::vector<std::size_t> counts{most};
    for (std::size_t less = 1; less < most; less *= 2) {
      if (widths[most - less - 1] < widths[most - 1]) counts.push_back(most - less);
    }
    return counts;
  }

  void consider(const std::vector<Piece>& pieces, const std::vector<std::int64_t>& a,
                const std::vector<std::int64_t>& b, std::size_t rows, std::size_t columns,
                Estimate& best) const {
    const std::int64_t a_width = rows == 0 ? 0 : a[rows - 1];
    const std::int64_t b_width = columns == 0 ? 0 : b[columns - 1];
    const auto taken = static_cast<double>(rows) * static_cast<double>(columns);
    const double all = static_cast<double>(a.size()) * static_cast<double>(b.size());
    const double apart = sum_ns(all - taken, operands_.terms(), bits_, operands_.parts);
    const auto offer = [&](Method method, double ns) {
      const bool wanted = method_ == Method::automatic || method_ == method;
      if (wanted && ns + apart < best.ns) best = {ns + apart, method, a_width, b_width};
    };
    Extent extent{static_cast<double>(rows), static_cast<double>(columns),
                  static_cast<double>(operands_.terms())};
    if (pieces.size() == 1) {
      offer(Method::integers, integer_ns(extent, a_width, b_width, operands_.parts));
      offer(Method::sums, sum_ns(taken, extent.terms, bits_, operands_.parts));
    }
    double ns = pieces.size() == 1 ? 0 : taken * 100 * static_cast<double>(pieces.size());
    for (const Piece& piece : pieces) {
      extent.terms = static_cast<double>(piece.terms.index.size());
      ns += residue_ns(extent, a_width, b_width, operands_.parts);
    }
    offer(Method::residues, ns);
  }

  const Operands& operands_;
  double bits_;
  Method method_;
};

Piece make_piece(const Operands& operands, Terms terms) {
  Piece piece{std::move(terms), {}, {}};
  piece.a = lines_of_a(operands, piece.terms);
  piece.b = lines_of_b(operands, piece.terms);
  return piece;
}

// How large terms are: the largest exponents in a and in b, relative to their lines'.
struct Grading {
  std::vector<std::int64_t> a, b;
  std::int64_t sum(std::size_t t) const { return a[t] + b[t]; }
};

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min() / 4;

Grading grading_of(const Operands& operands, const Piece& all) {
  const auto terms = static_cast<std::size_t>(operands.terms());
  Grading grading{std::vector<std::int64_t>(terms, kNone), std::vector<std::int64_t>(terms, kNone)};
  const auto see = [](std::int64_t& most, mpfr_srcptr x, const Line& line) {
    if (mpfr_regular_p(x)) most = std::max<std::int64_t>(most, mpfr_get_exp(x) - line.high);
  };
  for (int part = 0; part < operands.parts; ++part) {
    const View& a = operands.a[static_cast<std::size_t>(part)];
    const View& b = operands.b[static_cast<std::size_t>(part)];
    for (std::size_t t = 0; t < terms; ++t) {
      for (int i = 0; i < a.rows(); ++i) {
        see(grading.a[t], a.at(i, static_cast<int>(t)), all.a[static_cast<std::size_t>(i)]);
      }
      for (int j = 0; j < b.columns(); ++j) {
        see(grading.b[t], b.at(static_cast<int>(t), j), all.b[static_cast<std::size_t>(j)]);
      }
    }
  }
  return grading;
}

// Cuts the terms into pieces whose sizes differ by little, after shifting what a and b share.
std::vector<Piece> cut(const Operands& operands, const Piece& all, const Grading& grading,
                       int count) {
  constexpr std::int64_t kMostRange = std::int64_t{1} << 40;
  std::int64_t least = kMostRange;
  for (std::size_t t = 0; t < grading.a.size(); ++t) {
    if (grading.a[t] != kNone && grading.b[t] != kNone) least = std::min(least, grading.sum(t));
  }
  if (least < -kMostRange || least >= 0) return {};
  std::vector<Terms> groups(static_cast<std::size_t>(count));
  for (std::size_t t = 0; t < grading.a.size(); ++t) {
    if (grading.a[t] == kNone || grading.b[t] == kNone) continue;  // its products are zeros
    const auto group = static_cast<std::size_t>(grading.sum(t) * count / (least - 1));
    groups[group].index.push_back(static_cast<int>(t));
    groups[group].shift.push_back((grading.b[t] - grading.a[t]) / 2);
  }
  std::vector<Piece> pieces;
  for (Terms& terms : groups) {
    if (terms.index.empty()) continue;
    Piece& piece = pieces.emplace_back(make_piece(operands, std::move(terms)));
    for (std::size_t i = 0; i < all.a.size(); ++i) piece.a[i].finite = all.a[i].finite;
    for (std::size_t j = 0; j < all.b.size(); ++j) piece.b[j].finite = all.b[j].finite;
  }
  return pieces;
}

// Widths that numbers of some bits have if their exponents are those of random numbers.
bool is_graded(const Operands& operands, const Piece& all) {
  constexpr std::int64_t kRandom = 64;
  const auto wide = [](const std::vector<Line>& lines, std::int64_t bits) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const Line& line) { return line.width() > bits + kRandom; });
  };
  return wide(all.a, operands.bits_of_a()) || wide(all.b, operands.bits_of_b());
}

void sort_lines(const std::vector<std::int64_t>& widths, std::int64_t limit, std::vector<int>& in,
                std::vector<int>& apart) {
  for (std::size_t i = 0; i < widths.size(); ++i) {
    (widths[i] <= limit ? in : apart).push_back(static_cast<int>(i));
  }
}

}  // namespace

Plan make_plan(const Operands& operands, mpfr_prec_t bits, Method method) {
  const Planner planner(operands, bits, method);
  Plan plan;
  plan.pieces.push_back(make_piece(operands, all_terms(operands.terms())));
  Estimate best = planner.estimate(plan.pieces);
  const Piece all = plan.pieces[0];  // the pieces may be replaced below
  if (method != Method::integers && method != Method::sums && is_graded(operands, all)) {
    const Grading grading = grading_of(operands, all);
    for (int count = 1; count <= 64; count *= 2) {
      std::vector<Piece> pieces = cut(operands, all, grading, count);
      if (pieces.empty()) break;
      const Estimate estimate = planner.estimate(pieces);
      if (estimate.ns >= best.ns) continue;
      best = estimate;
      plan.pieces = std::move(pieces);
    }
  }
  plan.method = method == Method::sums ? method : best.method;
  sort_lines(widths_of(plan.pieces, &Piece::a), best.a_limit, plan.rows, plan.rows_apart);
  sort_lines(widths_of(plan.pieces, &Piece::b), best.b_limit, plan.columns, plan.columns_apart);
  for (Piece& piece : plan.pieces) {
    piece.a_width = widest(piece.a, plan.rows);
    piece.b_width = widest(piece.b, plan.columns);
  }
  return plan;
}

}  // namespace tabane::matmul
