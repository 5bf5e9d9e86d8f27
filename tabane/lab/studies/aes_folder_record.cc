// The record of the study aes-folder: every sample, and the tables that figures are drawn from.
#include <fmt/format.h>

#include <algorithm>

#include "tabane/core/units.h"
#include "tabane/lab/studies/aes_folder.h"

namespace tabane::lab::aes_folder {
namespace {

std::string threads_label(unsigned threads) {
  return threads == kAutomatic ? "automatic" : fmt::format("t{}", threads);
}

Result series_result(const Cell& cell, const Series& series, unsigned pus) {
  Result result;
  result.name = fmt::format("aes_folder.{}.{}x{}.{}", identifier(series.implementation), cell.files,
                            cell.bytes, threads_label(series.threads));
  result.what = fmt::format("time of {}", title(series.implementation));
  result.unit = "s";
  result.better = Better::lower;
  const auto all = [&](auto of) {
    Json values = Json::array();
    for (const Run& run : series.runs) values.push_back(of(run));
    return values;
  };
  const auto or_null = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  const bool automatic = series.threads == kAutomatic;
  result.parameters = {
      {"implementation", identifier(series.implementation)},
      {"files", cell.files},
      {"file_bytes", cell.bytes},
      {"threads", automatic ? Json(nullptr) : Json(series.threads)},
      {"order", all([](const Run& r) { return r.order; })},
      {"cpu_s", all([](const Run& r) { return r.usage.cpu_seconds; })},
      {"page_faults", all([](const Run& r) { return r.usage.page_faults; })},
      {"voluntary_switches", all([](const Run& r) { return r.usage.voluntary_switches; })},
      {"involuntary_switches", all([](const Run& r) { return r.usage.involuntary_switches; })},
      {"steal_s", all([&](const Run& r) { return or_null(r.usage.steal_seconds); })},
      {"machine_cpu_wait_s", all([&](const Run& r) { return or_null(r.usage.cpu_wait_seconds); })},
      {"machine_io_wait_s", all([&](const Run& r) { return or_null(r.usage.io_wait_seconds); })}};
  set_samples(result, series.seconds());
  const Series* copy = cell.find(Implementation::copy, automatic ? pus : series.threads);
  if (copy != nullptr && series.implementation != Implementation::copy)
    result.limit = Limit{
        core::median(copy->seconds()),
        fmt::format("plain copying of the same files with {} threads, in turn", copy->threads)};
  return result;
}

// Mean time over the best mean of copying: threads × sizes.
Table threads_table(const std::vector<Cell>& cells, std::uint64_t files,
                    Implementation implementation) {
  MatrixTable matrix{"ratio", Better::lower, {}, {}, {}};
  std::vector<unsigned> threads;
  for (const Cell& cell : cells) {
    if (cell.files != files) continue;
    matrix.columns.push_back(core::format_bytes(cell.bytes));
    for (const Series& one : cell.series) {
      if (one.implementation == implementation && one.threads != kAutomatic)
        threads.push_back(one.threads);
    }
  }
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  for (unsigned t : threads) {
    matrix.rows.push_back(std::to_string(t));
    std::vector<std::optional<double>> row;
    for (const Cell& cell : cells) {
      if (cell.files != files) continue;
      const Series* one = cell.find(implementation, t);
      const Series* copy = best(cell, Implementation::copy);
      row.push_back(one == nullptr || copy == nullptr
                        ? std::nullopt
                        : std::optional(core::mean(one->seconds()) / core::mean(copy->seconds())));
    }
    matrix.values.push_back(std::move(row));
  }
  return {.name = fmt::format("aes_folder.threads.{}.{}", identifier(implementation), files),
          .what = "mean time over the best mean of copying; rows: threads, columns: file size",
          .parameters = {{"files", files}, {"implementation", title(implementation)}},
          .content = std::move(matrix)};
}

// Time over that of copying, in turn, over the file size.
Table limit_curves(const std::vector<Cell>& cells, std::uint64_t files, unsigned pus) {
  CurvesTable curves{{"file size", "B", true}, {"time over copying", "ratio", true}, {}};
  for (Implementation implementation : kImplementations) {
    if (implementation == Implementation::copy) continue;
    const bool own = implementation == Implementation::tabane_cbc ||
                     implementation == Implementation::tabane_gcm;
    Curve curve{.name = title(implementation)};
    for (const Cell& cell : cells) {
      const Series* one = cell.find(implementation, own ? kAutomatic : pus);
      const Series* copy = cell.find(Implementation::copy, pus);
      if (cell.files != files || one == nullptr || copy == nullptr) continue;
      const auto ratio = core::interleaved_ratio(one->seconds(), copy->seconds());
      curve.x.push_back(static_cast<double>(cell.bytes));
      curve.y.push_back(ratio.value);
      curve.low.push_back(ratio.interval.low);
      curve.high.push_back(ratio.interval.high);
    }
    curves.series.push_back(std::move(curve));
  }
  return {.name = fmt::format("aes_folder.limit.{}", files),
          .what = "time over that of copying with as many threads as PUs, pairs of runs in turn",
          .parameters = {{"files", files}, {"threads", pus}},
          .content = std::move(curves)};
}

// The cell and number of threads whose runs are shown one by one: where the outliers of the
// report's program lost most time, without any the one with most bytes.
std::optional<std::pair<const Cell*, unsigned>> most_lost(const std::vector<Cell>& cells) {
  std::optional<std::pair<const Cell*, unsigned>> found;
  std::pair<double, std::uint64_t> most;
  for (const Cell& cell : cells) {
    for (const Series& one : cell.series) {
      if (one.implementation != Implementation::report_static || one.runs.empty()) continue;
      const auto seconds = one.seconds();
      double lost = 0;
      for (std::size_t i : slow_outliers(seconds)) lost += seconds[i] - core::median(seconds);
      const std::pair now{lost, cell.files * cell.bytes};
      if (found && now < most) continue;
      found = {&cell, one.threads};
      most = now;
    }
  }
  return found;
}

Table order_curves(const Cell& cell, unsigned threads) {
  CurvesTable curves{{"run", "", false}, {"time", "s", true}, {}};
  for (Implementation implementation : kImplementations) {
    const Series* one = cell.find(implementation, threads);
    if (one == nullptr) continue;
    Curve curve{.name = title(implementation), .y = one->seconds()};
    for (const Run& run : one->runs) curve.x.push_back(static_cast<double>(run.order));
    curves.series.push_back(std::move(curve));
  }
  return {.name = "aes_folder.order",
          .what = fmt::format("all runs of {} with {} threads in the order of time", label(cell),
                              threads),
          .parameters = {{"files", cell.files}, {"file_bytes", cell.bytes}, {"threads", threads}},
          .content = std::move(curves)};
}

std::vector<std::uint64_t> numbers_of_files(const std::vector<Cell>& cells) {
  std::vector<std::uint64_t> files;
  for (const Cell& cell : cells) {
    if (std::find(files.begin(), files.end(), cell.files) == files.end())
      files.push_back(cell.files);
  }
  return files;
}

}  // namespace

void record_cells(SurveyRecord& record, const std::vector<Cell>& cells, unsigned pus) {
  for (const Cell& cell : cells) {
    for (const Series& one : cell.series) {
      if (!one.runs.empty()) record.results.push_back(series_result(cell, one, pus));
    }
  }
  for (std::uint64_t files : numbers_of_files(cells)) {
    for (Implementation implementation :
         {Implementation::report_static, Implementation::tabane_cbc, Implementation::tabane_gcm})
      record.tables.push_back(threads_table(cells, files, implementation));
    record.tables.push_back(limit_curves(cells, files, pus));
  }
  if (const auto shown = most_lost(cells))
    record.tables.push_back(order_curves(*shown->first, shown->second));
}

}  // namespace tabane::lab::aes_folder
