// The tables and charts of the study aes-folder, with the report's figures.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "tabane/core/statistics.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/record/text.h"
#include "tabane/studies/aes_folder/aes_folder.h"

namespace tabane::lab::aes_folder {

// ---- points, by what they belong to ----

std::array<const Record*, 2> reports() {
  return {&published("aes-folder-xeon"), &published("aes-folder-phi")};
}

double mean_of(const Point* point) { return core::mean(point->samples); }

std::vector<double> beside(const Point* point, const char* name) {
  const auto at = point->beside.find(name);
  if (at != point->beside.end()) return at->second;
  return std::vector<double>(point->samples.size(), std::numeric_limits<double>::quiet_NaN());
}

namespace {

bool chosen(const Point* point) { return !point->factors.find("threads")->is_number(); }

}  // namespace

double threads_of(const Point* point) {
  return chosen(point) ? core::median(beside(point, "threads_taken")) : point->number("threads");
}

std::vector<Folder> FolderPoints::folders(const char* kind, double files) const {
  std::vector<Folder> found;
  for (const Factors& factors : combinations(points, {"bytes", "files", kind})) {
    const Folder folder{static_cast<std::uint64_t>(factors.find("files")->number()),
                        static_cast<std::uint64_t>(factors.find("bytes")->number())};
    if (files != 0 && static_cast<double>(folder.files) != files) continue;
    if (std::find(found.begin(), found.end(), folder) == found.end()) found.push_back(folder);
  }
  return found;
}

const Point* FolderPoints::find(const Folder& folder, const char* who, const Level& threads) const {
  return points.find(folder.point("implementation", who, threads));
}

PointList FolderPoints::of(const Folder& folder, const char* who) const {
  return points.where({{"implementation", who}, {"files", folder.files}, {"bytes", folder.bytes}});
}

const Point* FolderPoints::best(const Folder& folder, const char* who) const {
  PointList imposed = of(folder, who);
  std::erase_if(imposed, chosen);
  const auto least =
      std::min_element(imposed.begin(), imposed.end(),
                       [](const Point* a, const Point* b) { return mean_of(a) < mean_of(b); });
  return least == imposed.end() ? nullptr : *least;
}

namespace {

std::string file_size(const Folder& folder) { return show(static_cast<double>(folder.bytes), "B"); }

// ---- results ----

// Copying the same files with as many threads is the limit of a result.
void add_limits(Record& record, const FolderPoints& data) {
  for (Result& result : record.results) {
    const Level* who = result.factors.find("implementation");
    if (who == nullptr || who->word() == kCopy) continue;
    Factors wanted = result.factors.with({{"implementation", kCopy}});
    if (const Point* point = data.points.find(result.factors))
      wanted.set("threads", threads_of(point));
    if (const Point* copy = data.points.find(wanted))
      result.limit = Limit{copy->median(),
                           fmt::format("plain copying of the same files with {} threads, in turn",
                                       copy->text("threads"))};
  }
}

// ---- threads ----

// "2, 3.06 ms"
Entry threads_and_mean(const Point* point) {
  if (point == nullptr) return {};
  Entry entry(mean_of(point), "s");
  entry.text = fmt::format("{:g},", threads_of(point));
  return entry;
}

std::string name_of_best(const Folder& folder) {
  return fmt::format("best.files{}.bytes{}", folder.files, folder.bytes);
}

Entry published_best(const Record& report, const Folder& folder) {
  const std::string name = "aes_folder." + name_of_best(folder);
  Entry entry = published_entry(report, name);
  if (const Result* found = report.find(name))
    entry.text = fmt::format("{:g},", found->number_detail("threads").value_or(0));
  return entry;
}

void best_threads(Record& record, const FolderPoints& data, double files) {
  std::vector<std::string> columns = {"file size"};
  for (const Implementation& one : implementations()) columns.push_back(one.title);
  for (const Record* report : reports()) columns.push_back(report->machine.at("name").text());
  const Rows rows =
      rows_of(columns, data.folders("implementation", files), [&](const Folder& folder) {
        std::vector<Entry> row = {file_size(folder)};
        for (const Implementation& one : implementations())
          row.push_back(threads_and_mean(one.on_device ? data.find(folder, one.name, kAutomatic)
                                                       : data.best(folder, one.name)));
        for (const Record* report : reports()) row.push_back(published_best(*report, folder));
        return row;
      });
  add_table(record, fmt::format("{:.0f} files: best number of threads and mean time", files), rows,
            "OpenMP static is the report's program, written anew; the last columns are the "
            "report's machines. Each has its own best of the numbers of threads that were "
            "measured, imposed on tabane, too, but not on the coprocessor, whose times have the "
            "opening of the device and its programs in them; with equal numbers all stand side by "
            "side in the "
            "table against copying, from the same runs.");
}

// The figures that the report publishes.
void add_best(Record& record, const FolderPoints& data) {
  for (const Folder& folder : data.folders("implementation")) {
    const Point* best = data.best(folder, kReport);
    if (best == nullptr) continue;
    add_result(record, name_of_best(folder),
               "mean time of the report's program at its best number of threads",
               {mean_of(best), "s"}, Better::lower)
        .details = {{"threads", threads_of(best)}};
  }
}

void threads_map(Record& record, const FolderPoints& data, double files,
                 const Implementation& one) {
  Matrix map{.unit = "ratio", .row_axis = "threads", .column_axis = "file size"};
  map.colours = core::Interval{1, 16};  // the same in all maps, so that they can be compared
  const auto folders = data.folders("implementation", files);
  for (const Folder& folder : folders) map.columns.push_back(file_size(folder));
  for (const double threads :
       data.points.numbers("threads", {{"implementation", one.name}, {"files", files}})) {
    map.rows.push_back(fmt::format("{:g}", threads));
    auto& row = map.values.emplace_back(folders.size());
    for (std::size_t i = 0; i < folders.size(); ++i) {
      const Point* point = data.find(folders[i], one.name, threads);
      const Point* copy = data.best(folders[i], kCopy);
      if (point != nullptr && copy != nullptr) row[i] = mean_of(point) / mean_of(copy);
    }
  }
  add_chart(record, fmt::format("threads.{}.{:.0f}", one.name, files),
            fmt::format("{}: threads and file size, {:.0f} files", one.title, files),
            fmt::format("Mean time as a multiple of the best mean of copying the same {:.0f} "
                        "files. Dark is close to copying.",
                        files),
            std::move(map));
}

// ---- against the limit ----

// a / b in turn with its interval, where a difference is seen.
Entry compared(const Point* a, const Point* b) {
  const auto ratio = ratio_in_turn(a, b);
  if (ratio && ratio->undecided()) return "no difference seen";
  return ratio_entry(a, b);
}

// One line of the comparison: all have the same number of threads, or each has its own choice.
struct ThreadsOfRow {
  std::string title;
  Level others, tabane;
};

std::vector<ThreadsOfRow> threads_of_rows(const FolderPoints& data, const Folder& folder) {
  std::vector<ThreadsOfRow> rows;
  if (data.find(folder, kCopy, 1) != nullptr && data.pus != Level(1))
    rows.push_back({"1 thread", 1, 1});
  const char* const unit = data.pus == Level(1) ? " thread" : " threads";
  rows.push_back({data.pus.text() + unit, data.pus, data.pus});
  rows.push_back({"each chooses", data.pus, kAutomatic});
  return rows;
}

std::vector<Entry> row_against_limit(const FolderPoints& data, const Folder& folder,
                                     const ThreadsOfRow& threads) {
  const Point* copy = data.find(folder, kCopy, threads.others);
  const Point* report = data.find(folder, kReport, threads.others);
  const Point* cbc = data.find(folder, "tabane_cbc", threads.tabane);
  const Point* gcm = data.find(folder, "tabane_gcm", threads.tabane);
  if (copy == nullptr || (cbc == nullptr && gcm == nullptr)) return {};
  return {folder.label() + ", " + threads.title,
          count(copy->samples.size()),
          median_entry(copy),
          median_entry(report),
          median_entry(cbc),
          median_entry(gcm),
          compared(report, copy),
          compared(cbc, copy),
          compared(gcm, copy),
          compared(cbc, report),
          compared(gcm, report)};
}

void against_limit(Record& record, const FolderPoints& data) {
  Rows rows{{"files, threads", "runs", "copying", "OpenMP static", "tabane CBC", "tabane GCM",
             "static / copying", "CBC / copying", "GCM / copying", "CBC / static", "GCM / static"},
            {}};
  for (const Folder& folder : data.folders("implementation")) {
    for (const ThreadsOfRow& threads : threads_of_rows(data, folder)) {
      auto row = row_against_limit(data, folder, threads);
      if (!row.empty()) rows.rows.push_back(std::move(row));
    }
  }
  add_table(
      record, "Against the limit, which is plain copying", rows,
      fmt::format(
          "Median times, and ratios of times: medians of the pairs of runs, which were taken "
          "in turn, with their 95 % intervals. All in a row have the same number of "
          "threads; where each chooses, OpenMP and copying take one per PU ({}), and tabane "
          "as many as pay, often one for little work, so that the row also compares the "
          "choices. For small files with equal threads tabane takes longer than the report's "
          "program, because it does more for each: a temporary name, a lock, times, a check "
          "that the input has not changed and a rename, so that a file appears whole or not "
          "at all (13 system calls); and once for all it looks through the tree, starts its "
          "threads and makes its keys, even for ten files. Where the PUs are shared with others, "
          "starting and ending a second OpenMP thread may take milliseconds, many times as "
          "long as the work on such files.",
          data.pus.text()));
}

void limit_chart(Record& record, const FolderPoints& data, double files) {
  Curves curves{{"file size", "B", true}, {"time, copying = 1", "", true}, {}};
  curves.marks.push_back({.at = 1, .label = "", .vertical = false});
  std::vector<std::string> ends;
  const auto over_size = [&](const char* who, const Level& threads) {
    return data.points.where({{"implementation", who}, {"files", files}, {"threads", threads}},
                             "bytes");
  };
  for (const Implementation& one : implementations()) {
    if (one.name == std::string_view(kCopy)) continue;
    const Curve curve =
        ratio_curve(one.title, over_size(one.name, data.pus), over_size(kCopy, data.pus), "bytes");
    if (curve.x.empty()) continue;
    curves.series.push_back(curve);
    ends.push_back(fmt::format("{} {:.2f} at {} and {:.2f} at {}", curve.name, curve.y.front(),
                               show(curve.x.front(), "B"), curve.y.back(),
                               show(curve.x.back(), "B")));
  }
  add_chart(record, fmt::format("limit.{:.0f}", files),
            fmt::format("Time against copying, {:.0f} files", files),
            fmt::format("Time as a multiple of plain copying, measured in turn: {}. All have {} "
                        "threads, one per PU.",
                        join(ends), data.pus.text()),
            std::move(curves));
}

// ---- causes ----

const Point* variant_of(const FolderPoints& data, const Folder& folder, const char* name) {
  return data.points.find(folder.point("variant", name, data.pus));
}

// Median over the rounds of (from - to) / whole; none if no difference is seen. to: null: nothing.
Entry share_of(const Point& whole, const Point& from, const Point* to) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < whole.samples.size(); ++i)
    shares.push_back((from.samples[i] - (to == nullptr ? 0 : to->samples[i])) / whole.samples[i]);
  if (core::median_interval(shares).contains(0)) return {};
  return {core::median(shares), "share"};
}

Entry faults_of(const Point* point) {
  if (point == nullptr) return {};
  return {std::round(core::median(beside(point, "page_faults"))), "1"};
}

void removals(Record& record, const FolderPoints& data) {
  std::vector<std::string> columns = {"files", "time"};
  for (const Removal& removal : kRemovals) columns.push_back(removal.title);
  columns.insert(columns.end(), {"threads", "page faults", "with kept buffers"});
  const Rows rows = rows_of(columns, data.folders("variant"), [&](const Folder& folder) {
    const Point* whole = variant_of(data, folder, kProgram);
    const Point* from = whole;
    std::vector<Entry> row = {folder.label(), median_entry(whole)};
    for (const Removal& removal : kRemovals) {
      const Point* to = variant_of(data, folder, removal.variant);
      row.push_back(to == nullptr ? "not measured" : share_of(*whole, *from, to));
      if (to != nullptr) from = to;
    }
    row.push_back(share_of(*whole, *from, nullptr));
    row.push_back(faults_of(whole));
    row.push_back(faults_of(variant_of(data, folder, kRemovals[0].variant)));
    return row;
  });
  add_table(record, "What the report's program spends its time on", rows,
            fmt::format(
                "With {} threads and static scheduling; shares of the time, each the median over "
                "the rounds of what the program gains when this goes too, from left to right; – "
                "says that no difference is seen (the 95 % interval contains 0). Fresh buffers: "
                "two allocations per file, whose pages fault when they are touched. The chain: the "
                "same bytes as independent chains keep the AES pipelines full. Threads: start, "
                "sharing out, end.",
                data.pus.text()));
}

void changes(Record& record, const FolderPoints& data) {
  const Rows rows = rows_of(
      {"files", "dynamic scheduling", "allocator keeps memory", "page faults then", "buffers kept",
       "copying alone"},
      data.folders("variant"), [&](const Folder& folder) -> std::vector<Entry> {
        const auto ratio = [&](const char* name) {
          return ratio_entry(variant_of(data, folder, name), variant_of(data, folder, kProgram));
        };
        return {folder.label(),
                ratio(kDynamic),
                ratio(kMemoryKept),
                faults_of(variant_of(data, folder, kMemoryKept)),
                ratio(kRemovals[0].variant),
                ratio(kCopying)};
      });
  add_table(record, "Single changes to the report's program: time as a share of its own", rows,
            "Each change alone, with its 95 % interval; an interval with 1.00 inside says that no "
            "difference is seen. The allocator keeps memory: M_MMAP_THRESHOLD and "
            "M_TRIM_THRESHOLD are raised, so that freed buffers are used again without new page "
            "faults.");
}

}  // namespace

void add_views(Record& record, const Points& points, unsigned pus) {
  const FolderPoints data{points, pus};
  const std::vector<double> numbers_of_files =
      points.size() == 0 ? std::vector<double>() : points.numbers("files");
  add_limits(record, data);
  add_best(record, data);
  for (const double files : numbers_of_files) best_threads(record, data, files);
  against_limit(record, data);
  add_outlier_tables(record, data);
  removals(record, data);
  changes(record, data);
  for (const double files : numbers_of_files) {
    for (const Implementation& one : implementations())
      if (one.name == std::string_view(kReport) || one.chooses)
        threads_map(record, data, files, one);
    limit_chart(record, data, files);
  }
  add_order_of_runs(record, data);
}

}  // namespace tabane::lab::aes_folder
