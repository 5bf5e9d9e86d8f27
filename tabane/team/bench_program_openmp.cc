// tabane_bench_openmp: the OpenMP that teams are compared with. Works on request: see
// bench/remote.h. The environment sets its threads and where they run.
//
// Usage: tabane_bench_openmp spin TASKS ROUNDS | words FILE PIECE_BYTES.

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/served.h"
#include "tabane/core/file.h"
#include "tabane/team/bench_work.h"

namespace tabane::bench {
namespace {

namespace words = workloads;

std::vector<std::uint64_t> spin_all(std::size_t tasks, std::uint64_t rounds) {
  std::vector<std::uint64_t> results(tasks);
#pragma omp parallel for schedule(dynamic, 64)
  for (std::size_t i = 0; i < tasks; ++i) results[i] = spin(i, rounds);
  return results;
}

using Pieces = std::vector<std::string_view>;

// The same tables as a team's, one for each thread.
words::WordCounts count_by_same_tables(const Pieces& pieces) {
  words::WordCounts total;
#pragma omp parallel
  {
    words::WordCounts own;
#pragma omp for schedule(dynamic) nowait
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      words::count_words(pieces[i], own);
    }
#pragma omp critical
    total = words::merged(std::move(total), std::move(own));
  }
  return total;
}

// Words where they stand in the text.
using ViewCounts = std::unordered_map<std::string_view, std::uint64_t>;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

void count_views(std::string_view piece, ViewCounts& counts) {
  const char* at = piece.data();
  const char* const end = at + piece.size();
  for (;;) {
    while (at != end && is_space(*at)) ++at;
    if (at == end) return;
    const char* const begin = at;
    while (at != end && !is_space(*at)) ++at;
    ++counts[std::string_view(begin, static_cast<std::size_t>(at - begin))];
  }
}

// One table of the standard library for each thread.
ViewCounts count_by_views(const Pieces& pieces) {
  ViewCounts total;
#pragma omp parallel
  {
    ViewCounts own;
#pragma omp for schedule(dynamic) nowait
    for (std::size_t i = 0; i < pieces.size(); ++i) count_views(pieces[i], own);
#pragma omp critical
    {
      if (total.size() < own.size()) total.swap(own);
      for (const auto& [word, count] : own) total[word] += count;
    }
  }
  return total;
}

int serve_spin(std::size_t tasks, std::uint64_t rounds) {
  std::map<std::string, Served> work;
  serve_results(work, "omp", [=] { return spin_all(tasks, rounds); });
  return serve(work);
}

int serve_words(const std::string& path, std::size_t piece_bytes) {
  const std::string text = core::read_file(path);
  const Pieces pieces = words::cut_between_words(text, piece_bytes);
  std::map<std::string, Served> work;
  serve_results(work, "same-tables", [&] { return count_by_same_tables(pieces); });
  serve_results(work, "views", [&] { return count_by_views(pieces); });
  return serve(work);
}

int scene(const std::vector<std::string>& arguments) {
  if (arguments.at(0) == "spin")
    return serve_spin(std::stoull(arguments.at(1)), std::stoull(arguments.at(2)));
  return serve_words(arguments.at(1), std::stoull(arguments.at(2)));
}

}  // namespace
}  // namespace tabane::bench

int main(int argc, char** argv) {
  return tabane::bench::serve_scene(argc, argv, tabane::bench::scene);
}
