#include "tabane/tools/simulate/rates.h"

#include <fmt/format.h>

#include <functional>
#include <list>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"
#include "tabane/core/cgroup.h"
#include "tabane/core/clock.h"
#include "tabane/core/file.h"
#include "tabane/core/memory.h"
#include "tabane/core/statistics.h"
#include "tabane/core/temporary_file.h"
#include "tabane/solver/blas.h"
#include "tabane/solver/model.h"

namespace tabane::simulate {
namespace {

// Microseconds of the slowest rank for one of `times` calls: the median of some rounds.
double time_of(comm::Comm& comm, int times, const std::function<void()>& work) {
  constexpr int kRounds = 7;
  std::vector<double> samples;
  for (int round = 0; round < kRounds; ++round) {
    comm::barrier(comm);
    const double begin = core::tick_clock().now();
    for (int i = 0; i < times; ++i) work();
    const double own = core::tick_clock().now() - begin;
    samples.push_back(comm::all_reduce(comm, own, comm::Operation::max));
  }
  return 1e6 * core::median(samples) / times;
}

// The product of two panels of `width`, m x n; op: whether the second one is transposed. Each call
// adds it to another matrix, so that these come from as far as a solver's.
Sample product_sample(comm::Comm& comm, CBLAS_TRANSPOSE op, int m, int n, int width, int times) {
  const std::vector<double> a(static_cast<std::size_t>(m * width), 0.5),
      b(static_cast<std::size_t>(width * n), 1e-3);
  std::vector<double> c(static_cast<std::size_t>(m * n * times));
  const comm::Work work = solver::product(m, n, width);
  int call = 0;
  return {work.operations, work.bytes, time_of(comm, times, [&] {
            solver::add_product(CblasNoTrans, op, m, n, width, -1, a.data(), m, b.data(),
                                op == CblasTrans ? n : width, c.data() + m * n * (call++ % times),
                                m);
          })};
}

// So many rows solved with a triangle of `width` rows. Its ones keep all numbers as they are.
double triangle_cost(comm::Comm& comm, int rows, int width) {
  std::vector<double> triangle(static_cast<std::size_t>(width * width)),
      values(static_cast<std::size_t>(rows * width), 1);
  const double microseconds = time_of(comm, 10, [&] {
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasUnit, rows, width, 1,
                triangle.data(), width, values.data(), rows);
  });
  return microseconds / (1.0 * width * width * rows);
}

// A byte of memory that is got, touched and given back.
double memory_cost(comm::Comm& comm) {
  constexpr std::size_t kBytes = std::size_t{16} << 20;  // not in a cache of the core
  return time_of(comm, 1, [] { core::Region(kBytes).touch(); }) / kBytes;
}

// A file of so many patches' lines, in a folder of its own; rank 0 writes. Its removal does not
// count.
Sample text_sample(comm::Comm& comm, int patches) {
  std::list<core::ScratchFolder> folders;
  return {1, solver::kTextOperations * patches, time_of(comm, 1, [&] {
            if (comm.rank() != 0) return;
            const core::ScratchFolder& folder = folders.emplace_back("simulate");
            std::string text;
            for (int i = 0; i < 2 * patches; ++i) {
              text +=
                  fmt::format("{:6} {:16.9g} {:16.9g} {:16.9g}\n", i, i / 3.0, i / 7.0, i / 9.0);
            }
            core::write_file(folder / "answer", text);
          })};
}

}  // namespace

Costs costs_of(const Sample& a, const Sample& b) {
  const double determinant = a.u * b.v - a.v * b.u;
  const Costs both{(a.microseconds * b.v - a.v * b.microseconds) / determinant,
                   (a.u * b.microseconds - a.microseconds * b.u) / determinant};
  if (both.first < 0) return {0, a.microseconds / a.v};
  if (both.second < 0) return {a.microseconds / a.u, 0};
  return both;
}

Rates measure_rates(int ranks) {
  if (core::usable_memory_bytes().value_or(INFINITY) < 32e6 * ranks) return {};
  struct Values {
    Costs product, symmetric, text;
    double triangle, memory;
  };
  const auto measured = comm::launch_result<Values>(
      {.ranks = ranks, .transport = comm::TransportKind::shm}, [](comm::Comm& comm) {
        constexpr int kRows = 480, kPanel = 64, kBlock = 48, kNarrow = 16;
        const auto product = [&](CBLAS_TRANSPOSE op, int m, int n, int width, int times) {
          return product_sample(comm, op, m, n, width, times);
        };
        return Values{.product = costs_of(product(CblasNoTrans, kRows, kRows, kPanel, 8),
                                          product(CblasNoTrans, kRows, kNarrow, kNarrow / 2, 50)),
                      .symmetric = costs_of(product(CblasTrans, kRows, kRows, kBlock, 8),
                                            product(CblasTrans, kBlock, kBlock, kBlock, 100)),
                      .text = costs_of(text_sample(comm, 1000), text_sample(comm, 100)),
                      .triangle = triangle_cost(comm, kRows / 2, kBlock),
                      .memory = memory_cost(comm)};
      });
  const Values& of = *measured;
  Rates rates;
  const auto law = [&](std::string_view kind) -> std::string& { return rates[std::string(kind)]; };
  const auto costs = [](const Costs& one) {
    return fmt::format("{:.4g} op + {:.4g} x", one.first, one.second);
  };
  law(solver::kProduct) = costs(of.product);
  law(solver::kSymmetric) = costs(of.symmetric);
  law(solver::kTriangle) = fmt::format("{:.4g} op", of.triangle);
  law(solver::kMemory) = fmt::format("{:.4g} x", of.memory);
  law(solver::kText) = fmt::format("{:.4g} + {:.4g} op", of.text.first, of.text.second);
  return rates;
}

}  // namespace tabane::simulate
