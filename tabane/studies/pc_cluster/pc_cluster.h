// The study pc-cluster: double and multiple precision, copying, and messages inside a node and
// between nodes, to compare machines by.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/threads.h"
#include "tabane/lab/probes/rank_link.h"
#include "tabane/lab/study/study.h"
#include "tabane/tools/matmul/matrix.h"

namespace tabane::lab {

struct PcClusterOptions {
  bool quick = false;
  std::vector<std::string> hosts;  // none, or two to measure between
  double watch_seconds = 0;        // the rate between them is watched; 0: 10, quick 2
  int most_ranks = 0;              // 0: the PUs
  double budget_seconds = 0;       // 0: about 2 minutes, quick 20 s
  // The program that starts two ranks, on these hosts if there are any, which answer ask_link().
  // Empty: none can be started. throws: core::UsageError if there is none.
  std::function<core::HelperProgram(const std::vector<std::string>& hosts, const LinkRequest&)>
      link_program = {};
  std::function<std::string()> mpi = {};  // what the launcher calls itself; may be empty
};

// Hosts are asked before anything else is measured. Where an MPI launcher has started this process,
// only what its ranks can measure: messages. All ranks call it then, and those other than 0 get
// null.
// throws: core::UsageError for options that cannot be, and for hosts that do not answer; as
// comm::launch() otherwise.
std::optional<Record> run_pc_cluster(const core::Topology& topology,
                                     const PcClusterOptions& options, const Hooks& hooks = {});

// Measures between ranks 0 and 1 of the world what is asked for, as measure_link() does.
void serve_link(comm::Comm& world, const std::vector<std::string>& hosts,
                const LinkRequest& request, const LinkSink& sink);

namespace pc_cluster {

// What is seen beside the CPU time of a byte: the time of a message of kWatchedBytes.
inline constexpr const char* kHalfRoundTrip = "half_round_trip_s";

// Adds tables and charts.
void add_views(Record& record, const Points& points);

}  // namespace pc_cluster

// Products of square matrices, as the cluster report times them: by DGEMM, and by the loop that one
// writes down. A of random numbers times the square root of 2, B times that of 3, and C = A B.
class MatrixProducts {
 public:
  // most: the largest n. Smaller matrices take the first elements.
  explicit MatrixProducts(int most);

  // Seconds of a product of n x n matrices. cost: twice a millisecond or a product.
  double dgemm_seconds(int n);
  // B is read column by column. Of large matrices some rows are timed, since all take the same.
  double triple_loop_seconds(int n);

  const std::vector<double>& c() const { return c_; }

 private:
  std::vector<double> a_, b_, c_;
};

// The cluster report's parallel product: a loop of MPFR's operations, each rounded, over the rows
// of each rank. All ranks call it with the same matrices; rank 0 gets the product. seconds: of the
// loop and of collecting the rows.
matmul::Matrix loop_product(comm::Comm& comm, const matmul::Matrix& a, const matmul::Matrix& b,
                            double* seconds);

// Multiple-precision operations of MPFR, as the cluster report times them: on x = sqrt(3) - 1 and
// y = sqrt(5), both with all their bits.
struct MpfrOperation {
  const char* name;   // "multiply"
  const char* title;  // "x y"
};
const std::vector<MpfrOperation>& mpfr_operations();

// Returns the seconds of one operation over the threads, while this many threads of the pool do
// such operations at the same time. operation: index into mpfr_operations(); bits: of operands and
// result, from MPFR_PREC_MIN. cost: at least twice `seconds`, and some operations.
double mpfr_seconds(core::PinnedPool& pool, std::size_t threads, std::size_t operation, long bits,
                    double seconds);

}  // namespace tabane::lab
