#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/comm/steps.h"
#include "tabane/simd/reduction.h"
#include "tabane/tools/scg/equation.h"
#include "tabane/tools/scg/problem.h"
#include "tabane/tools/scg/solve.h"

namespace tabane::scg {
namespace {

// A row of what faces conduct, those to its west and north included.
struct FaceRow {
  const double* east;
  const double* south;
  const double* north;

  double sum(std::ptrdiff_t j) const { return (north[j] + south[j]) + (east[j - 1] + east[j]); }
};
FaceRow faces_of_row(const System& system, std::size_t row) {
  const double* const south = system.south.row(row);
  return {system.east.row(row), south, south - system.south.stride()};
}

// Conjugate gradients that continue where those of iterate() end: slower, and far more exact.
//
// Where k jumps by many orders of magnitude, u can be nearly constant in a part that almost nothing
// flows into. A p is then a small difference of large products, and rounding it, or x, makes the
// part's level meaningless. So here A p is added up of what flows, k_face (p_i - p_j); so is
// (p, A p), of squares; and x has twice the precision of a double. What is lost then is of the size
// of the flows. D, the diagonal of A, is the preconditioner.
class Refinement {
 public:
  // Takes p, r and the couplings of the system, which then are of no more use to iterate(), and
  // fills the latter with what the faces conduct. of_k: multiplies k; a power of two.
  Refinement(comm::Comm& comm, const Problem& problem, System& system, Halo& halo, double of_k)
      : comm_(comm),
        system_(system),
        halo_(halo),
        differences_(system.block().columns),
        flows_(system.block().columns),
        z_(system.block().columns) {
    const Block& block = system.block();
    if (!system.east.exists()) {
      system.east = Field(block.rows, block.columns, 3);
      system.south = Field(block.rows, block.columns, 4);
    }
    for (std::size_t i = 0; i < block.rows; ++i) {
      for (std::size_t j = 0; j < block.columns; ++j) {
        const Faces faces =
            faces_in<double>(problem, block.first_row + i, block.first_column + j, of_k);
        system.east.row(i)[j] = faces.east;
        system.south.row(i)[j] = faces.south;
        if (j == 0) system.east.row(i)[-1] = faces.west;
        if (i == 0) system.south.row(-1)[j] = faces.north;
      }
    }
  }

  // Adds A^-1 r to x = high + low, until |r_i| <= least A_ii everywhere, or for `most` iterations.
  // r of the system becomes what it then is by the recurrence. Returns the iterations. All ranks
  // call it.
  std::size_t solve(Field& high, Field& low, double least, std::size_t most) {
    ResidualNorms norms;
    for (std::size_t i = 0; i < system_.block().rows; ++i) norms = add_norms(i, norms);
    norms = over_ranks(norms);
    std::size_t iterations = 0;
    double beta = 0;
    while (norms.largest > least && iterations < most) {
      turn(beta);
      const double product = curvature();
      if (!(product > 0)) break;  // nothing left, or no number
      const ResidualNorms next = advance(norms.square / product, high, low);
      beta = next.square / norms.square;
      norms = next;
      ++iterations;
    }
    return iterations;
  }

 private:
  struct ResidualNorms {
    double square = 0, largest = 0;  // (r, D^-1 r); of |r_i| / A_ii
  };
  // p := D^-1 r + beta p.
  void turn(double beta) {
    const auto columns = static_cast<std::ptrdiff_t>(system_.block().columns);
    for (std::size_t i = 0; i < system_.block().rows; ++i) {
      const FaceRow faces = faces_of_row(system_, i);
      const double* const r = system_.r.row(i);
      double* const p = system_.p.row(i);
      for (std::ptrdiff_t j = 0; j < columns; ++j) p[j] = r[j] / faces.sum(j) + beta * p[j];
    }
    halo_.exchange(system_.p);
  }

  // (p, A p): over all faces, what each conducts times the square of the difference. Those to the
  // north and the west of the block are the neighbours', if there are any.
  double curvature() {
    const Block& block = system_.block();
    double sum = 0;
    const auto columns = static_cast<std::ptrdiff_t>(block.columns);
    const auto add = [&](const double* faces, const double* p, const double* other) {
      for (std::ptrdiff_t j = 0; j < columns; ++j) {
        const double difference = p[j] - other[j];
        differences_[j] = difference;
        flows_[j] = faces[j] * difference;
      }
      sum += simd::dot(differences_, flows_);
    };
    for (std::size_t i = 0; i < block.rows; ++i) {
      const FaceRow faces = faces_of_row(system_, i);
      const double* const p = system_.p.row(i);
      add(faces.east, p, p + 1);
      add(faces.south, p, system_.p.row(i + 1));
      if (i == 0 && block.neighbours[kNorth] < 0) add(faces.north, p, system_.p.row(-1));
      if (block.neighbours[kWest] < 0) sum += faces.east[-1] * (p[0] - p[-1]) * (p[0] - p[-1]);
    }
    return comm::all_reduce(comm_, sum, comm::Operation::sum);
  }

  // r := r - alpha A p, x := x + alpha p.
  ResidualNorms advance(double alpha, Field& high, Field& low) {
    const auto columns = static_cast<std::ptrdiff_t>(system_.block().columns);
    ResidualNorms norms;
    for (std::size_t i = 0; i < system_.block().rows; ++i) {
      const FaceRow faces = faces_of_row(system_, i);
      const double* const p = system_.p.row(i);
      const double* const above = p - system_.p.stride();
      const double* const below = p + system_.p.stride();
      double* const __restrict r = system_.r.row(i);
      double* const __restrict x = high.row(i);
      double* const __restrict x_low = low.row(i);
      for (std::ptrdiff_t j = 0; j < columns; ++j) {
        const double vertical =
            faces.north[j] * (p[j] - above[j]) + faces.south[j] * (p[j] - below[j]);
        const double along =
            faces.east[j - 1] * (p[j] - p[j - 1]) + faces.east[j] * (p[j] - p[j + 1]);
        r[j] -= alpha * (vertical + along);
        const Twice sum = Twice(x[j], x_low[j]) + exact_product(alpha, p[j]);
        x[j] = sum.hi;
        x_low[j] = sum.lo;
      }
      norms = add_norms(i, norms);
    }
    return over_ranks(norms);
  }

  ResidualNorms add_norms(std::size_t row, ResidualNorms norms) {
    const FaceRow faces = faces_of_row(system_, row);
    const std::span<const double> r(system_.r.row(row), z_.size());
    for (std::size_t j = 0; j < z_.size(); ++j) {
      z_[j] = r[j] / faces.sum(static_cast<std::ptrdiff_t>(j));
      norms.largest = std::max(norms.largest, std::fabs(z_[j]));
    }
    norms.square += simd::dot(z_, r);
    return norms;
  }

  ResidualNorms over_ranks(ResidualNorms own) {
    return {comm::all_reduce(comm_, own.square, comm::Operation::sum),
            comm::all_reduce(comm_, own.largest, comm::Operation::max)};
  }

  comm::Comm& comm_;
  System& system_;
  Halo& halo_;
  std::vector<double> differences_, flows_, z_;  // of a row
};

constexpr double kMostContrast = 1e180;   // so that no product of faces and halves of numbers is 0
constexpr double kUp = 1 + 0x1p-40;       // more than what rounding takes from a few products
constexpr double kRough = 0.25;           // |D - A w| / D at most, by the recurrence
constexpr std::size_t kMostAttempts = 8;  // at w

// w for constant k along a row or a column, with u given at one end at least: a parabola that is 0
// there and level at a Neumann side. Its second differences are -2, so A w >= 2 k. Whole numbers.
double parabola(std::size_t place, std::size_t size, bool given_at_begin, bool given_at_end) {
  const auto i = static_cast<double>(place), n = static_cast<double>(size);
  if (given_at_begin && given_at_end) return (i + 1) * (n - i);
  if (!given_at_begin && !given_at_end) return std::numeric_limits<double>::infinity();
  const double from_neumann = given_at_begin ? n - 1 - i : i;
  return n * (n + 1) - from_neumann * (from_neumann + 1);
}
// The smaller of two such w is one, too: neighbours that are smaller still only add to A w.
double weight_at(const Problem& problem, std::size_t row, std::size_t column) {
  const auto given = [&](SideIndex side) {
    return problem.sides[side].condition == Condition::dirichlet;
  };
  return std::min(parabola(row, problem.rows, given(kNorth), given(kSouth)),
                  parabola(column, problem.columns, given(kWest), given(kEast)));
}

class Prover {
 public:
  Prover(comm::Comm& comm, const Problem& problem, System& system, Halo& halo, const Scales& scales,
         std::size_t most)
      : comm_(comm),
        problem_(problem),
        system_(system),
        halo_(halo),
        scales_(scales),
        left_(most),
        refinement_(comm, problem, system, halo, scales.of_k),
        low_(another(5)) {}

  // Returns whether w > 0 with A w > 0 was found.
  bool find_weight() {
    Field w = another(6), w_low = another(7);
    if (problem_.k.is_constant()) {
      each([&](std::size_t i, std::size_t j) {
        const Block& block = system_.block();
        w.row(i)[j] = weight_at(problem_, block.first_row + i, block.first_column + j);
      });
    }
    for (std::size_t attempt = 0; attempt < kMostAttempts; ++attempt) {
      if (weigh(w, w_low)) {
        std::swap(system_.p, w);
        product_ = std::move(w);
        return true;
      }
      const std::size_t used = refinement_.solve(w, w_low, kRough, left_);
      if (used == 0) break;
      left_ -= used;
    }
    return false;
  }

  // Makes x better. With a weight.
  Proof improve(double tolerance) {
    constexpr double kMostGain = 1e30;  // in one round; also where u is 0, and its bound infinite
    Proof proof;
    double largest = measure(proof);  // |r_i| / A_ii
    while (true) {
      const double worst = std::max(proof.bound, proof.residual);
      if (worst <= tolerance) return proof;
      const double least = largest / std::min(4 * worst / tolerance, kMostGain);
      const std::size_t used = refinement_.solve(system_.x, low_, least, left_);
      if (used == 0) return proof;
      left_ -= used;
      largest = measure(proof);
      if (!(std::max(proof.bound, proof.residual) < worst / 2)) return proof;
    }
  }

  std::size_t left() const { return left_; }

 private:
  Field another(std::size_t number) const {
    return {system_.block().rows, system_.block().columns, number};
  }
  template <class F>
  void each(F f) const {
    for (std::size_t i = 0; i < system_.block().rows; ++i) {
      for (std::size_t j = 0; j < system_.block().columns; ++j) f(i, j);
    }
  }

  // Sets p to lower bounds of A w, r to D - A w, and the largest w. Returns whether w > 0 and
  // A w > 0 everywhere.
  bool weigh(const Field& w, const Field& w_low) {
    halo_.exchange(w);
    halo_.exchange(w_low);
    const Equations<Twice> equations(problem_, system_.block(), scales_, false);
    double failures = 0, largest = 0;
    each([&](std::size_t i, std::size_t j) {
      const Balance<Twice> balance = equations.at({w, &w_low}, i, j);
      const double product = -rounded(balance.residual);
      const double least = product / kUp - kUp * error_of(balance);
      system_.p.row(i)[j] = least;
      system_.r.row(i)[j] = rounded(balance.residual + Twice(balance.diagonal));
      if (!(least > 0 && w.row(i)[j] > 0)) ++failures;
      largest = std::max(largest, w.row(i)[j]);
    });
    largest_w_ = comm::all_reduce(comm_, largest, comm::Operation::max) * kUp;
    return comm::all_reduce(comm_, failures, comm::Operation::sum) == 0;
  }

  // Sets r to b - A u; bound and residual of the proof. Returns the largest |r_i| / A_ii.
  double measure(Proof& proof) {
    halo_.exchange(system_.x);
    halo_.exchange(low_);
    const Equations<Twice> equations(problem_, system_.block(), scales_, true);
    enum { kRatio, kUnknown, kLow, kResidual, kLargest };
    std::array<double, kLargest> largest{};
    std::array<double, 2> squares{};
    each([&](std::size_t i, std::size_t j) {
      const Balance<Twice> balance = equations.at({system_.x, &low_}, i, j);
      const double residual = rounded(balance.residual), root = std::sqrt(balance.diagonal);
      const double most = kUp * (std::fabs(residual) + error_of(balance));
      system_.r.row(i)[j] = residual;
      largest[kRatio] = std::max(largest[kRatio], most / product_.row(i)[j]);
      largest[kUnknown] = std::max(largest[kUnknown], std::fabs(system_.x.row(i)[j]));
      largest[kLow] = std::max(largest[kLow], std::fabs(low_.row(i)[j]));
      largest[kResidual] = std::max(largest[kResidual], std::fabs(residual) / balance.diagonal);
      squares[0] += residual / root * (residual / root);
      squares[1] += balance.right / root * (balance.right / root);
    });
    comm::all_reduce(comm_, largest, comm::Operation::max);
    comm::all_reduce(comm_, squares, comm::Operation::sum);
    proof.residual = std::sqrt(squares[0] / (squares[1] > 0 ? squares[1] : 1));
    // What is added: u is written as one double, which may be below the smallest normal number.
    constexpr double kNone = std::numeric_limits<double>::infinity();
    const double error = largest[kRatio] * largest_w_ + largest[kLow] + 0x1p-1074 * scales_.of_u;
    proof.bound = error / largest[kUnknown] * kUp;
    if (largest[kUnknown] == 0) proof.bound = largest[kRatio] == 0 ? 0 : kNone;
    // Comparisons above are blind to what is no number; the sum is not.
    if (!std::isfinite(proof.residual)) proof.bound = kNone;
    return largest[kResidual];
  }

  // Of balance.residual.
  static double error_of(const Balance<Twice>& balance) {
    return balance.terms > 0 ? kTwiceError * balance.terms + kLeastError : 0;
  }

  comm::Comm& comm_;
  const Problem& problem_;
  System& system_;
  Halo& halo_;
  Scales scales_;
  std::size_t left_;  // iterations
  Refinement refinement_;
  Field low_;      // of u
  Field product_;  // at least; A w
  double largest_w_ = 0;
};

// u near 1, and k at most 2, so that products neither overflow nor vanish.
Scales scales_of(comm::Comm& comm, const Problem& problem, const System& system) {
  const double most = largest_in(comm, system.x);
  Scales scales;
  scales.of_k = scale_to_one(problem.k.is_constant() ? problem.k.constant
                                                     : std::ranges::max(problem.k.array.values));
  scales.of_u = most > 0 && std::isfinite(most) ? scale_to_one(most) : 1 / scales.of_k;
  scales.of_f = scales.of_k * scales.of_u;
  return scales;
}

}  // namespace

Proof prove(comm::Comm& comm, const Problem& problem, System& system, Halo& halo, double tolerance,
            std::size_t most) {
  comm::barrier(comm);
  comm::Steps steps(comm, {"proof"});
  Proof proof;
  {
    const auto in = steps.in(0);
    if (contrast_of(problem) <= kMostContrast) {
      const Scales scales = scales_of(comm, problem, system);
      for (double& u : system.x.all()) u *= scales.of_u;
      Prover prover(comm, problem, system, halo, scales, most);
      if (prover.find_weight()) proof = prover.improve(tolerance);
      proof.iterations = most - prover.left();
      for (double& u : system.x.all()) u *= 1 / scales.of_u;
    }
  }
  proof.asked = true;
  proof.seconds = steps.gather().seconds_of_slowest();
  return proof;
}

}  // namespace tabane::scg
