// The tables of the study aes-folder that stand beside the report's.
#include <fmt/format.h>

#include <algorithm>

#include "tabane/core/units.h"
#include "tabane/lab/studies/aes_folder.h"

namespace tabane::lab::aes_folder {
namespace {

// The report's table: best number of threads and mean time in ms, Xeon and Xeon Phi.
struct ReportPoint {
  std::uint64_t files, bytes;
  const char *xeon, *phi;
};
constexpr std::uint64_t kKi = 1024, kMi = 1024 * 1024;
constexpr ReportPoint kReport[] = {{10, 128, "1, 2.672 ms", "1, 20.84 ms"},
                                   {100, 128, "2, 8.744 ms", "1, 40.42 ms"},
                                   {10, kKi, "1, 2.949 ms", "1, 21.32 ms"},
                                   {100, kKi, "2, 9.018 ms", "1, 51.05 ms"},
                                   {10, 4 * kKi, "2, 3.288 ms", "1, 23.99 ms"},
                                   {100, 4 * kKi, "2, 10.22 ms", "2, 60.84 ms"},
                                   {10, 16 * kKi, "2, 4.815 ms", "1, 33.89 ms"},
                                   {100, 16 * kKi, "4, 16.16 ms", "4, 77.49 ms"},
                                   {10, 64 * kKi, "10, 8.541 ms", "10, 44.74 ms"},
                                   {100, 64 * kKi, "10, 25.17 ms", "20, 122.0 ms"},
                                   {10, 256 * kKi, "10, 18.11 ms", "10, 67.72 ms"},
                                   {100, 256 * kKi, "10, 65.87 ms", "20, 294.6 ms"},
                                   {10, kMi, "10, 41.98 ms", "10, 154.7 ms"},
                                   {100, kMi, "20, 173.3 ms", "100, 686.7 ms"},
                                   {10, 4 * kMi, "10, 117.4 ms", "10, 456.8 ms"},
                                   {100, 4 * kMi, "20, 529.0 ms", "100, 1588 ms"}};

const ReportPoint* report_point(const Cell& cell) {
  for (const ReportPoint& point : kReport) {
    if (point.files == cell.files && point.bytes == cell.bytes) return &point;
  }
  return nullptr;
}

std::string threads_and_mean(const Series* series) {
  if (series == nullptr) return "–";
  return fmt::format("{}, {}", series->threads,
                     core::format_seconds(core::mean(series->seconds())));
}

std::string percent(double share) {
  return fmt::format("{:.{}f} %", 100 * share, share > 0 && share < 0.0095 ? 2 : 0);
}

}  // namespace

const Series* best(const Cell& cell, Implementation implementation) {
  const Series* found = nullptr;
  double least = 0;
  for (const Series& one : cell.series) {
    if (one.implementation != implementation || one.threads == kAutomatic || one.runs.empty())
      continue;
    const double mean = core::mean(one.seconds());
    if (found != nullptr && mean >= least) continue;
    found = &one;
    least = mean;
  }
  return found;
}

StudyTable best_threads_table(const std::vector<Cell>& cells, std::uint64_t files) {
  StudyTable table{fmt::format("{} files: best number of threads and mean time", files), "", {}};
  std::vector<std::string> head = {"file size"};
  for (Implementation implementation : kImplementations) head.push_back(title(implementation));
  head.insert(head.end(), {"report: Xeon", "report: Xeon Phi"});
  table.rows.push_back(std::move(head));
  for (const Cell& cell : cells) {
    if (cell.files != files) continue;
    std::vector<std::string> row = {core::format_bytes(cell.bytes)};
    for (Implementation implementation : kImplementations)
      row.push_back(threads_and_mean(best(cell, implementation)));
    const ReportPoint* point = report_point(cell);
    row.push_back(point == nullptr ? "–" : point->xeon);
    row.push_back(point == nullptr ? "–" : point->phi);
    table.rows.push_back(std::move(row));
  }
  table.remark =
      "OpenMP static is the report's program, written anew. The report: 2 x Xeon E5-2640 (12 "
      "cores, 2.5 GHz) and a Xeon Phi 5110P (60 "
      "cores, 1.05 GHz), sizes to 4 MB.";
  return table;
}

StudyTable limit_table(const std::vector<Cell>& cells, unsigned pus) {
  StudyTable table{"Against the limit, which is plain copying", "", {}};
  table.rows = {{"files", "runs", "copying", "OpenMP static", "tabane CBC", "tabane GCM",
                 "static / CBC", "static / GCM"}};
  for (const Cell& cell : cells) {
    const Series* copy = cell.find(Implementation::copy, pus);
    const Series* report = cell.find(Implementation::report_static, pus);
    const Series* cbc = cell.find(Implementation::tabane_cbc, kAutomatic);
    const Series* gcm = cell.find(Implementation::tabane_gcm, kAutomatic);
    if (copy == nullptr || report == nullptr || cbc == nullptr || gcm == nullptr) continue;
    const auto of_limit = [&](const Series* series) {
      return percent(core::interleaved_ratio(copy->seconds(), series->seconds()).value);
    };
    const auto speedup = [&](const Series* series) {
      const auto r = core::interleaved_ratio(report->seconds(), series->seconds());
      return fmt::format("{:.2f} [{:.2f}, {:.2f}]", r.value, r.interval.low, r.interval.high);
    };
    table.rows.push_back({label(cell), std::to_string(copy->runs.size()),
                          core::format_seconds(core::median(copy->seconds())), of_limit(report),
                          of_limit(cbc), of_limit(gcm), speedup(cbc), speedup(gcm)});
  }
  table.remark = fmt::format(
      "Shares of the speed of copying the same files with {0} threads, one for each PU. The "
      "report's program runs with {0} threads, tabane with as many as it chooses. The last "
      "columns: how many times as long the report's program takes, median of the pairs of runs "
      "and its 95 % interval.",
      pus);
  return table;
}

}  // namespace tabane::lab::aes_folder
