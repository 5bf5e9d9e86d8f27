#include "tabane/studies/pc_cluster/pc_cluster.h"

#include <fmt/format.h>
#include <mpfr.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <numbers>
#include <random>

#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"
#include "tabane/core/binding.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/threads.h"
#include "tabane/core/units.h"
#include "tabane/lab/campaign/ranks.h"
#include "tabane/lab/probes/ping_pong.h"
#include "tabane/lab/survey/survey.h"
#include "tabane/solver/blas.h"
#include "tabane/tools/matmul/matrix.h"
#include "tabane/tools/matmul/solve.h"

namespace tabane::lab {
// ---- arithmetic ----

namespace {

// Seconds of a call, from as many as take a millisecond: the shorter of two series, so that having
// to wait does not pass for long work.
template <class F>
double seconds_of_call(F f) {
  const auto seconds_of = [&](std::uint64_t calls) {
    const double begin = core::tick_clock().now();
    for (std::uint64_t i = 0; i < calls; ++i) f();
    return core::tick_clock().now() - begin;
  };
  for (std::uint64_t calls = 1;; calls *= 4) {
    const double seconds = std::min(seconds_of(calls), seconds_of(calls));
    if (seconds > 1e-3) return seconds / static_cast<double>(calls);
  }
}

}  // namespace

MatrixProducts::MatrixProducts(int most)
    : a_(static_cast<std::size_t>(most) * static_cast<std::size_t>(most)),
      b_(a_.size()),
      c_(a_.size()) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform;
  for (double& x : a_) x = std::numbers::sqrt2 * uniform(random);
  for (double& x : b_) x = std::numbers::sqrt3 * uniform(random);
}

double MatrixProducts::dgemm_seconds(int n) {
  return seconds_of_call([&] {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a_.data(), n, b_.data(), n,
                0, c_.data(), n);
  });
}

double MatrixProducts::triple_loop_seconds(int size) {
  const auto n = static_cast<std::size_t>(size);
  const std::size_t rows = std::min(n, 1 + 20'000'000 / (n * n));
  const double seconds = seconds_of_call([&] {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < n; ++k) sum += a_[i * n + k] * b_[k * n + j];
        c_[i * n + j] = sum;
      }
    }
  });
  return seconds * static_cast<double>(n) / static_cast<double>(rows);
}

namespace {

// What one thread works on.
class MpfrNumbers {
 public:
  explicit MpfrNumbers(long bits) {
    mpfr_inits2(bits, x_, y_, z_, nullptr);
    mpfr_sqrt_ui(x_, 3, MPFR_RNDN);
    mpfr_sub_ui(x_, x_, 1, MPFR_RNDN);
    mpfr_sqrt_ui(y_, 5, MPFR_RNDN);
  }
  ~MpfrNumbers() { mpfr_clears(x_, y_, z_, nullptr); }
  MpfrNumbers(const MpfrNumbers&) = delete;
  MpfrNumbers& operator=(const MpfrNumbers&) = delete;

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
  std::deque<MpfrNumbers> operands;
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

// ---- the study ----

namespace {

using namespace pc_cluster;

constexpr About kAboutPcCluster = {
    "pc-cluster", "Double and multiple precision, copying, and messages: machines compared",
    "T. Kouya (Shizuoka Institute of Science and Technology): Performance evaluation of PC "
    "clusters using x86_64 dual-core CPUs, 2006"};

// ---- matrix products ----

Block product_block(const core::Topology& topology, bool quick) {
  const std::vector<int> sizes =
      quick ? std::vector{32, 100, 300, 1000}
            : std::vector{16, 32, 64, 100, 150, 200, 300, 400, 500, 700, 1000, 1400, 2000};
  const auto matrices = std::make_shared<MatrixProducts>(sizes.back());
  std::vector<Contender> contenders;
  for (const int n : sizes) {
    contenders.push_back({{{"part", "product"}, {"way", "dgemm"}, {"n", n}},
                          [=] { return Sample{matrices->dgemm_seconds(n)}; }});
    contenders.push_back({{{"part", "product"}, {"way", "triple loop"}, {"n", n}},
                          [=] { return Sample{matrices->triple_loop_seconds(n)}; }});
  }
  Block block = block_in_turn("matrix products", std::move(contenders));
  block.body = [body = std::move(block.body), pu = topology.pus().front().os_index](Visit& visit) {
    const core::ScopedBinding binding(pu);
    body(visit);
  };
  return block;
}

// ---- multiple precision ----

Block mpfr_block(const core::Topology& topology, bool quick) {
  std::vector<unsigned> pus;
  for (const core::Pu& pu : topology.pus()) pus.push_back(pu.os_index);
  Block block{.what = "operations of MPFR"};
  std::vector<std::pair<std::size_t, std::size_t>> how;  // operation, cores
  for (std::size_t i = 0; i < mpfr_operations().size(); ++i) {
    how.emplace_back(i, pus.size());
    if (pus.size() > 1) how.emplace_back(i, 1);
  }
  for (long bits = 64; bits <= (quick ? 4096 : 65536); bits *= quick ? 4 : 2) {
    for (const auto& [operation, cores] : how)
      block.points.push_back({{"part", "mpfr"},
                              {"operation", mpfr_operations()[operation].name},
                              {"cores", cores},
                              {"bits", bits}});
  }
  block.body = [points = block.points, how, pus](Visit& visit) {
    core::PinnedPool pool(pus);
    std::vector<Contender> contenders;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto [operation, cores] = how[i % how.size()];
      const auto bits = static_cast<long>(points[i].number("bits"));
      contenders.push_back({points[i], [&pool, operation, cores, bits] {
                              return Sample{mpfr_seconds(pool, cores, operation, bits, 1e-3)};
                            }});
    }
    visit.in_turn(contenders, {.most = kUsualRounds, .budget_seconds = visit.budget_seconds()});
  };
  return block;
}

// ---- messages ----

// Half round trips between two ranks that are forked here. Several blocks: one alone would take
// long on a busy machine, and Ctrl-C has to wait for its end.
void add_inside_blocks(Campaign& campaign, const RankRunner& runner) {
  constexpr std::size_t kSizesABlock = 16;
  struct LinkKind {
    const char* name;
    std::function<RankWorkload(std::uint64_t)> ping_pong;
  };
  const auto links = std::make_shared<LocalLinks>();
  const std::vector<LinkKind> ways = {
      {"tcp", [=](std::uint64_t bytes) { return links->ping_pong("127.0.0.1", bytes); }},
      {"unix socket", [=](std::uint64_t bytes) { return links->ping_pong("", bytes); }},
      {"shm", message_ping_pong}};
  const std::vector<std::uint64_t> sizes = ping_pong_sizes(std::uint64_t{4} << 20);
  for (std::size_t first = 0; first < sizes.size(); first += kSizesABlock) {
    std::vector<RankContender> contenders;
    const std::size_t end = std::min(first + kSizesABlock, sizes.size());
    for (std::size_t i = first; i < end; ++i) {
      for (const LinkKind& way : ways)
        contenders.push_back({{{"part", "inside"}, {"way", way.name}, {"bytes", sizes[i]}},
                              way.ping_pong(sizes[i]),
                              0.5});
    }
    campaign.add(rank_block(
        runner, 2,
        fmt::format("messages of up to {} inside the node", core::format_bytes(sizes[end - 1])),
        std::move(contenders)));
  }
}

// Lets two ranks of MPI measure; throws as ask_link().
using AskLink = std::function<void(const LinkRequest&, const LinkSink&, Visit&)>;

Block link_block(const PcClusterOptions& options, bool watches, const AskLink& ask) {
  const char* part = watches ? "watch" : options.hosts.empty() ? "inside" : "between";
  const std::string what = options.hosts.empty() ? "MPI inside the node"
                           : watches             ? "the rate between the hosts"
                                                 : "messages between the hosts";
  Block block{.what = what};
  block.points.push_back({{"part", part}, {"way", "mpi"}, {"bytes", 1}});
  const double usual = options.quick ? 2 : 10;
  const double watch =
      (options.watch_seconds > 0 ? options.watch_seconds : usual) / (options.quick ? 1 : 5);
  block.body = [=, given_up = std::make_shared<bool>(false)](Visit& visit) {
    if (*given_up) return;  // it would not be there now either
    const LinkSink sink = [&](const LinkSamples& one) {
      if (!one.reason.empty()) {
        visit.skip(one.way.empty() ? what : fmt::format("{}, {}", what, one.way), one.reason);
        *given_up = *given_up || one.way.empty();
      }
      visit.add({{"part", part}, {"way", one.way}, {"bytes", one.bytes}}, one.samples);
      return !*given_up;
    };
    try {
      ask({watches ? watch : std::max(0.3, visit.budget_seconds()), watches}, sink, visit);
    } catch (const core::Error& error) {
      *given_up = true;
      visit.skip(what, error.what());
    }
  };
  return block;
}

// ---- the parallel product of multiple precision ----

Sample multiply(const matmul::Matrix& a, const matmul::Matrix& b, int ranks) {
  const comm::LaunchOptions launch{.ranks = ranks, .transport = comm::TransportKind::shm};
  const auto answer = comm::launch_result<matmul::MatrixProduct>(
      launch, [&](comm::Comm& comm) { return matmul::solve(comm, a, b, a.bits()); });
  const solver::Solution& solution = answer->solution;
  if (!solution.check.passed())
    throw core::VerificationError("the product of multiple precision", solution.check.residual,
                                  solution.check.tolerance);
  return {solution.seconds};
}

Block parallel_block(const std::vector<int>& numbers, bool quick) {
  const int n = quick ? 64 : 150;
  struct MatrixPair {
    matmul::Matrix a, b;
  };
  std::vector<Contender> contenders;
  for (const int bits : quick ? std::vector{128, 1024} : std::vector{128, 512, 1024, 4096}) {
    const auto operands = std::make_shared<const MatrixPair>(MatrixPair{
        matmul::random_matrix(n, n, bits, 2, 1), matmul::random_matrix(n, n, bits, 3, 2)});
    for (const int ranks : numbers)
      contenders.push_back({{{"part", "parallel"}, {"bits", bits}, {"n", n}, {"ranks", ranks}},
                            [=] { return multiply(operands->a, operands->b, ranks); }});
  }
  return block_in_turn("multiple-precision products on ranks", std::move(contenders));
}

// A machine without a loopback device, for example, or one that is too busy.
void note_refused_sockets(Campaign& campaign) {
  for (const char* way : {"tcp", "unix socket"}) {
    if (campaign.points.find({{"part", "inside"}, {"way", way}}) == nullptr)
      campaign.skip(fmt::format("messages inside the node, {}", way),
                    "two processes cannot be connected by it, or no time was left for them");
  }
}

// ---- all ----

std::string pc_cluster_what(const Point& point) {
  const std::string part = point.text("part");
  if (part == "mpfr")
    return fmt::format("MPFR: {}, seconds over the cores that do it", point.text("operation"));
  if (part == "parallel") return "product of square matrices of multiple precision on ranks";
  if (part == "product") return "product of square matrices, " + point.text("way");
  if (part == "watch") return "half a round trip over time between two hosts, " + point.text("way");
  return fmt::format("half a round trip {}, {}",
                     part == "inside" ? "inside the node" : "between two hosts", point.text("way"));
}

void check(const PcClusterOptions& options) {
  require_option(options.watch_seconds >= 0 && options.watch_seconds <= 3600, "--seconds",
                 options.watch_seconds, "from 1 to 3600");
  require_option(options.most_ranks >= 0 && options.most_ranks <= kMostRanksForked, "--ranks",
                 options.most_ranks, "from 1 to 4096");
  const auto bad = std::ranges::find_if(options.hosts, [](const std::string& host) {
    return host.empty() || host.starts_with('-') ||
           host.find_first_of(" \t\n,;") != std::string::npos;
  });
  require_option(bad == options.hosts.end(), "--hosts",
                 bad == options.hosts.end() ? "" : fmt::format("'{}'", *bad),
                 "names or addresses of hosts");
  require_option(options.hosts.empty() || options.hosts.size() == 2, "--hosts",
                 fmt::format("{}", fmt::join(options.hosts, ",")), "two hosts, as in --hosts a,b");
}

CampaignOptions campaign_options(const PcClusterOptions& options) {
  const double usual = options.quick ? 15 : 100;
  const double budget = options.budget_seconds > 0 ? options.budget_seconds : usual;
  return {.passes = options.quick ? 3 : 10,
          .budget_seconds = budget,
          .most_seconds = 4 * budget + 60 + options.watch_seconds};
}

void add_link_blocks(Campaign& campaign, const PcClusterOptions& options, const AskLink& ask) {
  campaign.add(link_block(options, false, ask));
  if (!options.hosts.empty()) campaign.add(link_block(options, true, ask));
}

// Under an MPI launcher: rank 0 has the campaign, the others do what it asks them for.
std::optional<Record> run_on_ranks(RunningStudy study, const PcClusterOptions& options,
                                   const Hooks& hooks) {
  std::optional<Record> shown;
  const auto on_rank_0 = [&](comm::Comm& world) {
    Campaign campaign(hooks);
    campaign.points.declare({{"n", 0}, {"operation", ""}, {"cores", 0}, {"bits", 0}, {"ranks", 0}});
    add_link_blocks(campaign, options, [&](LinkRequest request, const LinkSink& sink, Visit&) {
      comm::broadcast(world, request, 0);
      measure_link(world, options.hosts, request,
                   [&](const LinkSamples& one) { return sink(one) && !hooks.stop_requested(); });
    });
    campaign.skip("matrix products, MPFR, copying, sockets and shm inside the node",
                  "an MPI launcher has started this: run the study without it for these");
    const bool complete = campaign.run(campaign_options(options));
    study.add(campaign, complete, pc_cluster_what);
    add_views(study.record, campaign.points);
    shown = study.finish();
    LinkRequest no_more;
    comm::broadcast(world, no_more, 0);
  };
  try {
    comm::launch({.transport = comm::TransportKind::mpi}, [&](comm::Comm& world) {
      if (world.rank() == 0) return on_rank_0(world);
      for (LinkRequest request;;) {
        comm::broadcast(world, request, 0);
        if (request.seconds <= 0) return;
        measure_link(world, options.hosts, request, [](const LinkSamples&) { return true; });
      }
    });
  } catch (const core::LostError&) {
    if (!shown) throw;  // the figures of before count
  }
  return shown;
}

}  // namespace

std::optional<Record> run_pc_cluster(const core::Topology& topology,
                                     const PcClusterOptions& options, const Hooks& hooks) {
  check(options);
  RunningStudy study(topology, kAboutPcCluster, options.quick);
  if (comm::is_one_of_several()) return run_on_ranks(std::move(study), options, hooks);
  add_probes(study.record, topology, std::vector<std::string>{"memcpy"}, hooks);
  if (!study.record.complete) return study.finish();
  with_ranks(topology, {.transport = comm::TransportKind::shm}, [&](const RankRunner& runner) {
    Campaign campaign(hooks);
    campaign.add(product_block(topology, options.quick));
    campaign.add(mpfr_block(topology, options.quick));
    add_inside_blocks(campaign, runner);
    campaign.add(parallel_block(plan_ranks_from_one(options.most_ranks, topology), options.quick));
    const auto ask_on = [&](const std::vector<std::string>& hosts) {
      return [&, hosts](const LinkRequest& request, const LinkSink& sink, Visit& visit) {
        ask_link(options.link_program(hosts, request), sink, [&] { visit.show(0.5); });
      };
    };
    if (options.link_program) {
      PcClusterOptions inside = options;
      inside.hosts.clear();
      add_link_blocks(campaign, inside, ask_on({}));
      if (!options.hosts.empty()) add_link_blocks(campaign, options, ask_on(options.hosts));
    }
    const bool complete = campaign.run(campaign_options(options));
    if (complete) note_refused_sockets(campaign);
    study.add(campaign, complete, pc_cluster_what);
    add_views(study.record, campaign.points);
  });
  return study.finish();
}

}  // namespace tabane::lab
