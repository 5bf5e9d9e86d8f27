#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tabane/simd/targets_test.h"
#include "tabane/tools/scg/system.h"

namespace tabane::scg {
namespace {

// The passes as plain loops.
double coupling(const double* couplings, std::ptrdiff_t at) {
  return couplings == nullptr ? 0.25 : couplings[at];
}

// Row `at` of A p.
double product(const double* p, const Couplings& c, std::ptrdiff_t at, std::ptrdiff_t stride) {
  return p[at] - coupling(c.east, at) * p[at + 1] - coupling(c.east, at - 1) * p[at - 1] -
         coupling(c.south, at) * p[at + stride] - coupling(c.south, at - stride) * p[at - stride];
}

template <class F>
void for_unknowns(const Extent& extent, const F& f) {
  for (std::size_t i = 0; i < extent.rows; ++i) {
    for (std::size_t j = 0; j < extent.columns; ++j) {
      f(i, j, static_cast<std::ptrdiff_t>(i) * extent.stride + static_cast<std::ptrdiff_t>(j));
    }
  }
}

double new_direction_reference(const Extent& extent, const double* r, double beta, double* p,
                               const Couplings& c) {
  double sum = 0;
  for_unknowns(extent, [&](std::size_t i, std::size_t j, std::ptrdiff_t at) {
    p[at] = r[at] + beta * p[at];
    sum += p[at] * p[at];
    if (j > 0) sum -= 2 * coupling(c.east, at - 1) * p[at] * p[at - 1];
    if (i > 0) sum -= 2 * coupling(c.south, at - extent.stride) * p[at] * p[at - extent.stride];
  });
  return sum;
}

double update_reference(const Extent& extent, const double* p, double alpha, double* r,
                        const SolutionUpdate& solution, const Couplings& couplings) {
  double sum = 0;
  for_unknowns(extent, [&](std::size_t, std::size_t, std::ptrdiff_t at) {
    if (solution.x != nullptr) solution.x[at] += solution.of_p * p[at] - solution.of_r * r[at];
    r[at] -= alpha * product(p, couplings, at, extent.stride);
    sum += r[at] * r[at];
  });
  return sum;
}

constexpr double kTolerance = 1e-13;  // some hundred roundings of numbers below 8

// A field in ordinary memory: a huge page takes longer to clear than to test with.
class Plane {
 public:
  Plane(std::size_t rows, std::size_t columns)
      : stride_(stride_of(columns)),
        values_((rows + 2) * static_cast<std::size_t>(stride_) + 3 * kMargin) {
    void* begin = values_.data();
    std::size_t bytes = values_.size() * sizeof(double);
    first_ = static_cast<double*>(std::align(64, 1, begin, bytes)) + kMargin + stride_;
  }

  double* row(std::ptrdiff_t row) const { return first_ + row * stride_; }

 private:
  static constexpr std::size_t kMargin = 64;  // elements

  std::ptrdiff_t stride_;
  std::vector<double> values_;
  double* first_;
};

// Vectors of random numbers, in their frames too, where the frame of p alone counts.
struct Case {
  Case(std::size_t rows, std::size_t columns, bool coupled)
      : extent{rows, columns, stride_of(columns)},
        p(rows, columns),
        r(rows, columns),
        x(rows, columns),
        east(rows, columns),
        south(rows, columns),
        couplings{coupled ? east.row(0) : nullptr, coupled ? south.row(0) : nullptr} {
    std::uint64_t seed = 1;
    for (const Plane* field : {&p, &r, &x, &east, &south}) {
      const auto values = simd::some_values<double>((rows + 2) * (columns + 2), seed++);
      auto from = values.begin();
      for (std::ptrdiff_t i = -1; i <= static_cast<std::ptrdiff_t>(rows); ++i) {
        for (std::ptrdiff_t j = -1; j <= static_cast<std::ptrdiff_t>(columns); ++j) {
          field->row(i)[j] = *from++;
        }
      }
    }
  }

  Extent extent;
  Plane p, r, x, east, south;
  Couplings couplings;
};

// Frames included.
void expect_same(const Plane& a, const Plane& b, const Extent& extent) {
  for (std::ptrdiff_t i = -1; i <= static_cast<std::ptrdiff_t>(extent.rows); ++i) {
    for (std::ptrdiff_t j = -1; j <= static_cast<std::ptrdiff_t>(extent.columns); ++j) {
      ASSERT_NEAR(a.row(i)[j], b.row(i)[j], kTolerance) << i << ", " << j;
    }
  }
}

template <class F>
void for_cases(F f) {
  simd::on_every_target([&] {
    for (const bool coupled : {false, true}) {
      for (const std::size_t rows : {1, 2, 5}) {
        for (const std::size_t columns :
             {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40, 41, 47, 64, 71, 100, 510}) {
          SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", " << coupled);
          f(rows, columns, coupled);
        }
      }
    }
  });
}

TEST(NewDirection, IsThatOfThePlainLoop) {
  for_cases([](std::size_t rows, std::size_t columns, bool coupled) {
    const Case fast(rows, columns, coupled), plain(rows, columns, coupled);
    const double sum =
        new_direction(fast.extent, fast.r.row(0), 0.75, fast.p.row(0), fast.couplings);
    const double expected = new_direction_reference(plain.extent, plain.r.row(0), 0.75,
                                                    plain.p.row(0), plain.couplings);
    ASSERT_NEAR(sum, expected, kTolerance * static_cast<double>(rows * columns));
    expect_same(fast.p, plain.p, fast.extent);
  });
}

TEST(ScaledCgUpdate, IsThatOfThePlainLoop) {
  for_cases([](std::size_t rows, std::size_t columns, bool coupled) {
    for (const bool solution : {false, true}) {
      const Case fast(rows, columns, coupled), plain(rows, columns, coupled);
      const double sum = update(fast.extent, fast.p.row(0), 0.6, fast.r.row(0),
                                {solution ? fast.x.row(0) : nullptr, 1.5, 0.25}, fast.couplings);
      const double expected =
          update_reference(plain.extent, plain.p.row(0), 0.6, plain.r.row(0),
                           {solution ? plain.x.row(0) : nullptr, 1.5, 0.25}, plain.couplings);
      ASSERT_NEAR(sum, expected, kTolerance * static_cast<double>(rows * columns));
      expect_same(fast.r, plain.r, fast.extent);
      expect_same(fast.x, plain.x, fast.extent);
      expect_same(fast.p, plain.p, fast.extent);
    }
  });
}

TEST(NewDirection, OfHandWorkedNumbers) {
  // p = 1 2 / 3 4 after the update; edges 1-2, 3-4, 1-3, 2-4: 2 + 12 + 3 + 8 = 25.
  const Case c(2, 2, false);
  for (std::ptrdiff_t i = 0; i < 2; ++i) {
    for (std::ptrdiff_t j = 0; j < 2; ++j) {
      c.p.row(i)[j] = 2;
      c.r.row(i)[j] = static_cast<double>(2 * i + j) - 3;
    }
  }
  EXPECT_EQ(new_direction(c.extent, c.r.row(0), 2, c.p.row(0), c.couplings), 30 - 0.5 * 25);
  EXPECT_EQ(c.p.row(1)[0], 3);
}

TEST(Combine, HasTheBitsOfTheNewDirection) {
  for_cases([](std::size_t rows, std::size_t columns, bool coupled) {
    const Case c(rows, columns, coupled);
    std::vector<double> ahead(columns);
    combine(c.r.row(0), 0.3, c.p.row(0), ahead.data(), columns);
    new_direction(c.extent, c.r.row(0), 0.3, c.p.row(0), c.couplings);
    for (std::size_t j = 0; j < columns; ++j) ASSERT_EQ(ahead[j], c.p.row(0)[j]) << j;
  });
}

}  // namespace
}  // namespace tabane::scg
