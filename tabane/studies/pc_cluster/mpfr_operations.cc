#include "tabane/studies/pc_cluster/mpfr_operations.h"

#include <mpfr.h>

#include <algorithm>
#include <deque>

#include "tabane/core/time_together.h"

namespace tabane::lab {
namespace {

// What one thread works on.
class Operands {
 public:
  explicit Operands(long bits) {
    mpfr_inits2(bits, x_, y_, z_, nullptr);
    mpfr_sqrt_ui(x_, 3, MPFR_RNDN);
    mpfr_sub_ui(x_, x_, 1, MPFR_RNDN);
    mpfr_sqrt_ui(y_, 5, MPFR_RNDN);
  }
  ~Operands() { mpfr_clears(x_, y_, z_, nullptr); }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  void run(std::size_t operation, std::uint64_t iterations) {
    static constexpr int (*kFunctions[])(mpfr_ptr, mpfr_srcptr, mpfr_srcptr) = {
        [](mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y) { return mpfr_mul(z, x, y, MPFR_RNDN); },
        [](mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y) { return mpfr_div(z, x, y, MPFR_RNDN); },
        [](mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr) { return mpfr_sqrt(z, x, MPFR_RNDN); },
        [](mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr) { return mpfr_exp(z, x, MPFR_RNDN); }};
    for (std::uint64_t i = 0; i < iterations; ++i) kFunctions[operation](z_, x_, y_);
  }

 private:
  mpfr_t x_, y_, z_;
};

}  // namespace

const std::vector<MpfrOperation>& mpfr_operations() {
  static const std::vector<MpfrOperation> all = {
      {"multiply", "x y"}, {"divide", "x / y"}, {"sqrt", "square root of x"}, {"exp", "exp x"}};
  return all;
}

double mpfr_seconds(core::PinnedPool& pool, std::size_t threads, std::size_t operation, long bits,
                    double seconds) {
  std::deque<Operands> operands;
  for (std::size_t i = 0; i < threads; ++i) operands.emplace_back(bits);
  for (std::uint64_t iterations = 1;;) {
    const auto work = [&](std::size_t i) { operands[i].run(operation, iterations); };
    // The shorter of two: a thread that had to wait must not pass for a long operation.
    const double taken = std::min(core::time_together(pool, threads, work).seconds,
                                  core::time_together(pool, threads, work).seconds);
    if (taken >= seconds) {
      pool.run([](std::size_t) { mpfr_free_cache(); });  // each thread has constants of its own
      return taken / static_cast<double>(iterations) / static_cast<double>(threads);
    }
    const double factor = std::clamp(1.2 * seconds / std::max(taken, 1e-9), 2.0, 1000.0);
    iterations = static_cast<std::uint64_t>(static_cast<double>(iterations) * factor);
  }
}

}  // namespace tabane::lab
