#include "tabane/studies/pc_cluster/pc_cluster.h"

#include <fmt/format.h>
#include <gmp.h>
#include <mpfr.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"
#include "tabane/core/binding.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/lab/campaign/ranks.h"
#include "tabane/lab/probes/ping_pong.h"
#include "tabane/lab/survey/survey.h"
#include "tabane/solver/blas.h"
#include "tabane/tools/matmul/solve.h"

namespace tabane::lab {
namespace {

using namespace pc_cluster;

constexpr int kProductSize = 64;  // of parallel products of multiple precision

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
  const std::vector<unsigned> pus = topology.pu_os_indices();
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

// ---- the parallel product of multiple precision ----

const std::vector<int> kProductBits = {128, 512, 1024, 4096};

Factors product_factors(const std::string& where, const std::string& way, int bits, int ranks) {
  return {{"part", where == "between" ? "parallel between" : "parallel"},
          {"way", way},
          {"bits", bits},
          {"n", kProductSize},
          {"ranks", ranks}};
}

struct MatrixPair {
  explicit MatrixPair(int bits)
      : a(matmul::random_matrix(kProductSize, kProductSize, bits, 2, 1)),
        b(matmul::random_matrix(kProductSize, kProductSize, bits, 3, 2)) {}
  matmul::Matrix a, b;
};

// Whether the loop's roundings are as many as they may be: an element is a sum of n products of
// positive numbers, and each operation is off by at most 2^-bits of its result.
bool agree(const matmul::Matrix& loop, const matmul::Matrix& exact) {
  bool all = true;
  mpfr_t off, most;
  mpfr_inits2(64, off, most, nullptr);
  for (int i = 0; i < loop.rows(); ++i) {
    for (int j = 0; j < loop.columns(); ++j) {
      mpfr_sub(off, loop.at(i, j), exact.at(i, j), MPFR_RNDA);
      mpfr_mul_2si(most, exact.at(i, j), -loop.bits(), MPFR_RNDD);
      mpfr_mul_ui(most, most, 2 * static_cast<unsigned long>(loop.rows()), MPFR_RNDD);
      all = all && mpfr_cmpabs(off, most) <= 0;
    }
  }
  mpfr_clears(off, most, nullptr);
  return all;
}

// Seconds of tabane's own product, exact and rounded once, and of the report's loop, on rank 0.
// throws: core::VerificationError.
std::pair<double, double> multiply_both_ways(comm::Comm& comm, const MatrixPair& of) {
  const matmul::MatrixProduct exact = matmul::solve(comm, of.a, of.b, of.a.bits());
  double seconds = 0;
  const matmul::Matrix loop = loop_product(comm, of.a, of.b, &seconds);
  if (comm.rank() != 0) return {};
  const solver::Solution& solution = exact.solution;
  if (!solution.check.passed())
    throw core::VerificationError("the product of multiple precision", solution.check.residual,
                                  solution.check.tolerance);
  if (!agree(loop, exact.c.re)) throw core::VerificationError("the loop of MPFR", 1, 0);
  return {solution.seconds, seconds};
}

// Rounds of both ways on ranks that are forked.
Block parallel_block(const std::vector<int>& numbers, bool quick) {
  Block block{.what = "multiple-precision products on ranks"};
  std::vector<int> all_bits = kProductBits;
  if (quick) all_bits = {128, 1024};
  std::vector<std::shared_ptr<const MatrixPair>> pairs;
  for (const int bits : all_bits) {
    pairs.push_back(std::make_shared<const MatrixPair>(bits));
    for (const int ranks : numbers)
      for (const char* way : {"exact", "loop"})
        block.points.push_back(product_factors("inside", way, bits, ranks));
  }
  block.body = [=](Visit& visit) {
    const double begin = core::tick_clock().now();
    for (int round = 0; round == 0 || core::tick_clock().now() - begin < visit.budget_seconds();
         ++round) {
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        for (const int ranks : numbers) {
          visit.show(0.5);
          const auto seconds = *comm::launch_result<std::vector<double>>(
              {.ranks = ranks, .transport = comm::TransportKind::shm}, [&](comm::Comm& comm) {
                const auto [exact, loop] = multiply_both_ways(comm, *pairs[i]);
                return std::vector<double>{exact, loop};
              });
          visit.add(product_factors("inside", "exact", all_bits[i], ranks), {seconds[0]});
          visit.add(product_factors("inside", "loop", all_bits[i], ranks), {seconds[1]});
        }
      }
    }
  };
  return block;
}

// The same between ranks 0 and 1 of the world, and on rank 0 alone.
void measure_products(comm::Comm& world, double seconds, const LinkSink& sink) {
  auto two = world.split(world.rank() < 2 ? 0 : -1);
  if (!two) return;
  auto one = two->split(two->rank() == 0 ? 0 : -1);
  std::vector<MatrixPair> pairs(kProductBits.begin(), kProductBits.end());
  const double end = core::tick_clock().now() + seconds;
  for (std::uint8_t more = 1; more != 0;) {
    for (std::size_t i = 0; i < pairs.size() && more != 0; ++i) {
      for (int ranks = 1; ranks <= 2; ++ranks) {
        if (ranks == 1 && !one) continue;
        const auto [exact, loop] = multiply_both_ways(ranks == 1 ? *one : *two, pairs[i]);
        if (!one) continue;
        const int bits = kProductBits[i];
        const bool wanted =
            sink({.way = "exact", .samples = {exact}, .bits = bits, .ranks = ranks}) &&
            sink({.way = "loop", .samples = {loop}, .bits = bits, .ranks = ranks});
        more = static_cast<std::uint8_t>(more != 0 && wanted);
      }
      if (core::tick_clock().now() > end && i + 1 == pairs.size()) more = 0;
      comm::broadcast(*two, more, 0);
    }
  }
}

// ---- messages ----

// Half round trips between two ranks that are forked here. Several blocks: one alone would take
// long on a busy machine, and Ctrl-C has to wait for its end.
void add_inside_blocks(Campaign& campaign, const RankRunner& runner) {
  constexpr std::size_t kSizesABlock = 16;
  LocalLinks links;
  const std::vector<std::uint64_t> sizes = ping_pong_sizes(std::uint64_t{4} << 20);
  for (std::size_t first = 0; first < sizes.size(); first += kSizesABlock) {
    std::vector<RankContender> contenders;
    const std::size_t end = std::min(first + kSizesABlock, sizes.size());
    for (std::size_t i = first; i < end; ++i) {
      const auto add = [&](const char* way, RankWorkload workload) {
        contenders.push_back(
            {{{"part", "inside"}, {"way", way}, {"bytes", sizes[i]}}, std::move(workload), 0.5});
      };
      add("tcp", links.ping_pong("127.0.0.1", sizes[i]));
      add("unix socket", links.ping_pong("", sizes[i]));
      add("shm", message_ping_pong(sizes[i]));
    }
    campaign.add(rank_block(
        runner, 2,
        fmt::format("messages of up to {} inside the node", core::format_bytes(sizes[end - 1])),
        std::move(contenders)));
  }
}

// Lets two ranks of MPI measure; throws as ask_link().
using AskLink = std::function<void(const LinkRequest&, const LinkSink&, Visit&)>;

Block link_block(const PcClusterOptions& options, LinkTask task, const AskLink& ask) {
  const std::string where = options.hosts.empty() ? "inside" : "between";
  const std::string what = options.hosts.empty()        ? "MPI inside the node"
                           : task == LinkTask::watch    ? "the rate between the hosts"
                           : task == LinkTask::products ? "products between the hosts"
                                                        : "messages between the hosts";
  Block block{.what = what};
  if (task == LinkTask::products)
    block.points.push_back(product_factors("between", "exact", kProductBits.front(), 1));
  else
    block.points.push_back(
        {{"part", task == LinkTask::watch ? "watch" : where}, {"way", "mpi"}, {"bytes", 1}});
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
      if (one.cpu_s_per_byte)
        visit.add({{"part", "cpu " + where}, {"way", one.way}}, {*one.cpu_s_per_byte},
                  {{kHalfRoundTrip, one.samples.at(0)}});
      else if (one.bits > 0)
        visit.add(product_factors(where, one.way, one.bits, one.ranks), one.samples);
      else
        visit.add({{"part", task == LinkTask::watch ? "watch" : where},
                   {"way", one.way},
                   {"bytes", one.bytes}},
                  one.samples);
      return !*given_up;
    };
    try {
      ask({task == LinkTask::watch ? watch : std::max(0.3, visit.budget_seconds()), task}, sink,
          visit);
    } catch (const core::Error& error) {
      *given_up = true;
      visit.skip(what, error.what());
    }
  };
  return block;
}

// Refuses hosts that do not answer, before anything is measured.
void require_hosts(const PcClusterOptions& options) {
  if (options.hosts.empty() || !options.link_program) return;
  const std::string hosts = fmt::format("{}", fmt::join(options.hosts, ","));
  std::string reason;
  try {
    ask_link(
        options.link_program(options.hosts, {.seconds = 1, .task = LinkTask::answer}),
        [&](const LinkSamples& one) {
          if (one.way.empty()) reason = one.reason;
          return reason.empty();
        },
        [] {});
  } catch (const core::LostError& error) {
    reason = error.what();
  }
  if (!reason.empty())
    throw core::UsageError(
        "--hosts {}: no answer ({}). The launcher has to start a program on both, as 'mpirun "
        "--host {} -n 2 hostname' does, and tabane has to be installed at the same place there; "
        "without --hosts all else is measured",
        hosts, reason, hosts);
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

// What the figures depend on, beyond tabane itself.
Json libraries() {
  Json all = {{"GMP", gmp_version}, {"MPFR", mpfr_get_version()}};
#if defined(OPENBLAS_VERSION)
  all["BLAS"] = openblas_get_config();
#endif
  return all;
}

std::string pc_cluster_what(const Point& point) {
  const std::string part = point.text("part");
  if (part == "mpfr")
    return fmt::format("MPFR: {}, seconds over the cores that do it", point.text("operation"));
  if (part.starts_with("parallel"))
    return fmt::format("product of square matrices of multiple precision on ranks{}, {}",
                       part == "parallel" ? "" : " on two hosts", point.text("way"));
  if (part.starts_with("cpu "))
    return fmt::format("CPU time of both ranks for a byte {}, {}",
                       part == "cpu inside" ? "inside the node" : "between two hosts",
                       point.text("way"));
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
  campaign.add(link_block(options, LinkTask::sizes, ask));
  if (options.hosts.empty()) return;
  campaign.add(link_block(options, LinkTask::watch, ask));
  campaign.add(link_block(options, LinkTask::products, ask));
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
      serve_link(world, options.hosts, request,
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
        serve_link(world, options.hosts, request, [](const LinkSamples&) { return true; });
      }
    });
  } catch (const core::LostError&) {
    if (!shown) throw;  // the figures of before count
  }
  return shown;
}

}  // namespace

void serve_link(comm::Comm& world, const std::vector<std::string>& hosts,
                const LinkRequest& request, const LinkSink& sink) {
  if (request.task == LinkTask::products)
    measure_products(world, request.seconds, sink);
  else
    measure_link(world, hosts, request, sink);
}

std::optional<Record> run_pc_cluster(const core::Topology& topology,
                                     const PcClusterOptions& options, const Hooks& hooks) {
  check(options);
  const bool has_launcher = comm::is_one_of_several();
  if (!has_launcher) require_hosts(options);
  RunningStudy study(topology, kAboutPcCluster, options.quick);
  study.record.environment["libraries"] = libraries();
  if (has_launcher) return run_on_ranks(std::move(study), options, hooks);
  add_probes(study.record, topology, std::vector<std::string>{"memcpy"}, hooks);
  if (!study.record.complete) return study.finish();
  with_ranks(topology, {.transport = comm::TransportKind::shm}, [&](const RankRunner& runner) {
    Campaign campaign(hooks);
    campaign.add(product_block(topology, options.quick));
    campaign.add(mpfr_block(topology, options.quick));
    add_inside_blocks(campaign, runner);
    const int pus = static_cast<int>(topology.pus().size());
    const int most = options.most_ranks > 0 ? options.most_ranks : std::max(pus, 2);
    campaign.add(parallel_block(plan_ranks_from_one(most, topology), options.quick));
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
    if (complete && options.mpi) study.record.environment["libraries"]["MPI"] = options.mpi();
    study.add(campaign, complete, pc_cluster_what);
    add_views(study.record, campaign.points);
  });
  return study.finish();
}

}  // namespace tabane::lab
