// The tables and charts of the study aes-folder, with the report's figures beside.
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
namespace {

constexpr const char* kReport = "report_static";  // the report's program
constexpr const char* kCopy = "copy";

std::array<const Record*, 2> reports() {
  return {&published("aes-folder-xeon"), &published("aes-folder-phi")};
}

double mean_of(const Point* point) { return core::mean(point->samples); }
bool chosen(const Point* point) { return !point->factors.find("threads")->is_number(); }
Entry count(std::size_t n) { return count_entry(static_cast<double>(n)); }
std::string size_of(const Folder& folder) { return show(static_cast<double>(folder.bytes), "B"); }

// What was seen beside the samples; NaN where nothing was noted.
std::vector<double> beside(const Point* point, const char* name) {
  const auto at = point->beside.find(name);
  if (at != point->beside.end()) return at->second;
  return std::vector<double>(point->samples.size(), std::numeric_limits<double>::quiet_NaN());
}

double threads_of(const Point* point) {
  return chosen(point) ? core::median(beside(point, "threads_taken")) : point->number("threads");
}

// The points by what they belong to.
struct Data {
  const Points& points;
  Level pus;  // the threads of copying as the limit

  // With a point of that kind, small files first; of so many files unless it is 0.
  std::vector<Folder> folders(const char* kind, double files = 0) const {
    std::vector<Folder> found;
    for (const Factors& factors : combinations(points, {"bytes", "files", kind})) {
      const Folder folder{static_cast<std::uint64_t>(factors.find("files")->number()),
                          static_cast<std::uint64_t>(factors.find("bytes")->number())};
      if (files != 0 && static_cast<double>(folder.files) != files) continue;
      if (std::find(found.begin(), found.end(), folder) == found.end()) found.push_back(folder);
    }
    return found;
  }
  std::vector<double> numbers_of_files() const {
    return points.size() == 0 ? std::vector<double>() : points.numbers("files");
  }
  const Point* find(const Folder& folder, const char* who, const Level& threads) const {
    return points.find(folder.point("implementation", who, threads));
  }
  const Point* variant(const Folder& folder, const char* name) const {
    return points.find(folder.point("variant", name, pus));
  }
  // With any number of threads.
  PointList of(const Folder& folder, const char* who) const {
    return points.where(
        {{"implementation", who}, {"files", folder.files}, {"bytes", folder.bytes}});
  }
  // The one with the least mean among imposed numbers of threads; null if there is none.
  const Point* best(const Folder& folder, const char* who) const {
    PointList imposed = of(folder, who);
    std::erase_if(imposed, chosen);
    const auto least =
        std::min_element(imposed.begin(), imposed.end(),
                         [](const Point* a, const Point* b) { return mean_of(a) < mean_of(b); });
    return least == imposed.end() ? nullptr : *least;
  }
};

// Copying the same files with as many threads is the limit of a result.
void add_limits(Record& record, const Data& data) {
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

void best_threads(Record& record, const Data& data, double files) {
  std::vector<std::string> columns = {"file size"};
  for (const Implementation& one : implementations()) columns.push_back(one.title);
  for (const Record* report : reports()) columns.push_back(report->machine.at("name").text());
  const Rows rows =
      rows_of(columns, data.folders("implementation", files), [&](const Folder& folder) {
        std::vector<Entry> row = {size_of(folder)};
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
void add_best(Record& record, const Data& data) {
  for (const Folder& folder : data.folders("implementation")) {
    const Point* best = data.best(folder, kReport);
    if (best == nullptr) continue;
    add_result(record, name_of_best(folder),
               "mean time of the report's program at its best number of threads",
               {mean_of(best), "s"}, Better::lower)
        .details = {{"threads", threads_of(best)}};
  }
}

void threads_map(Record& record, const Data& data, double files, const Implementation& one) {
  Matrix map{.unit = "ratio", .row_axis = "threads", .column_axis = "file size"};
  map.colours = core::Interval{1, 16};  // the same in all maps, so that they can be compared
  const auto folders = data.folders("implementation", files);
  for (const Folder& folder : folders) map.columns.push_back(size_of(folder));
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

// One line of the comparison: all have so many threads, or each has what it takes by itself.
struct ThreadsOfRow {
  std::string title;
  Level others, tabane;
};

std::vector<ThreadsOfRow> threads_of_rows(const Data& data, const Folder& folder) {
  std::vector<ThreadsOfRow> rows;
  if (data.find(folder, kCopy, 1) != nullptr && data.pus != Level(1))
    rows.push_back({"1 thread", 1, 1});
  const char* const unit = data.pus == Level(1) ? " thread" : " threads";
  rows.push_back({data.pus.text() + unit, data.pus, data.pus});
  rows.push_back({"each chooses", data.pus, kAutomatic});
  return rows;
}

std::vector<Entry> row_against_limit(const Data& data, const Folder& folder,
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

void against_limit(Record& record, const Data& data) {
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

void limit_chart(Record& record, const Data& data, double files) {
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

// ---- outliers ----

// Slow runs of several points, each held against those of its own point.
struct Tally {
  std::size_t by_report = 0, by_fence = 0;
  std::vector<double> relative = {};  // to the median

  explicit Tally(const PointList& points) {
    for (const Point* point : points) {
      const std::vector<bool> slow = unusually_high(point->samples);
      by_report += core::outliers_mean_plus(point->samples).size();
      by_fence += static_cast<std::size_t>(std::count(slow.begin(), slow.end(), true));
      for (const double t : point->samples) relative.push_back(t / point->median());
    }
  }
};

// The mean of the samples that are not unusually high.
double normal_mean(const Point* point) {
  const std::vector<bool> slow = unusually_high(point->samples);
  std::vector<double> normal;
  for (std::size_t i = 0; i < slow.size(); ++i)
    if (!slow[i]) normal.push_back(point->samples[i]);
  return core::mean(normal);
}

// "6 (10 threads), 21 (20 threads)"
std::string published_outliers(const Folder& folder) {
  const std::string wanted =
      fmt::format("aes_folder.outliers.files{}.bytes{}.", folder.files, folder.bytes);
  std::vector<std::string> counts;
  for (const Result& result : reports()[0]->results) {
    if (result.name.starts_with(wanted) && result.value)
      counts.push_back(fmt::format("{:g} ({:g} threads)", *result.value,
                                   result.number_detail("threads").value_or(0)));
  }
  return fmt::format("{}", fmt::join(counts, ", "));
}

void outliers_of_report(Record& record, const Data& data) {
  const Rows rows =
      rows_of({"files", "runs", "mean + 1 s", "far fence", "longest / median", "best threads",
               "mean", "normal runs",
               fmt::format("{}, of 100", reports()[0]->machine.at("name").get<std::string>())},
              data.folders("implementation"), [&](const Folder& folder) -> std::vector<Entry> {
                const Tally tally(data.of(folder, kReport));
                const Point* best = data.best(folder, kReport);
                if (best == nullptr) return {};
                return {folder.label(),
                        count(tally.relative.size()),
                        count(tally.by_report),
                        count(tally.by_fence),
                        {core::quantile(tally.relative, 1), "ratio"},
                        {threads_of(best), "1"},
                        {mean_of(best), "s"},
                        {normal_mean(best), "s"},
                        published_outliers(folder)};
              });
  add_table(record, "Outliers of the report's program", rows,
            "Runs with all numbers of threads together; each is held against those with its own "
            "number. \"mean + 1 s\" is the report's rule, by which its counts in the last column "
            "are; the far fence is 3 interquartile ranges above the upper quartile. The mean of "
            "the best number of threads, over all runs and over those below the far fence.");
}

void outliers_of_all(Record& record, const Data& data) {
  const Rows rows =
      rows_of({"implementation", "runs", "mean + 1 s", "far fence", "share", "longest / median",
               "99 % quantile / median"},
              implementations(), [&](const Implementation& one) -> std::vector<Entry> {
                const Tally tally(data.points.where({{"implementation", one.name}}));
                const std::size_t runs = tally.relative.size();
                if (runs == 0) return {};
                return {one.title,
                        count(runs),
                        count(tally.by_report),
                        count(tally.by_fence),
                        {static_cast<double>(tally.by_fence) / static_cast<double>(runs), "share"},
                        {core::quantile(tally.relative, 1), "ratio"},
                        {core::quantile(tally.relative, 0.99), "ratio"}};
              });
  add_table(record, "Outliers of all implementations", rows,
            "All files, sizes and numbers of threads together.");
}

// What may coincide with a slow run; what has a name beside the samples is unusually high there.
struct Kind {
  const char *what, *beside;
};
constexpr Kind kKinds[] = {{"more CPU time of its own", "cpu_s"},
                           {"more page faults", "page_faults"},
                           {"more voluntary context switches", "voluntary_switches"},
                           {"more involuntary context switches", "involuntary_switches"},
                           {"longer waiting for a CPU (machine)", "machine_cpu_wait_s"},
                           {"longer waiting for a device (machine)", "machine_io_wait_s"},
                           {"more steal by the hypervisor", "steal_s"},
                           {"another slow run just before or after", nullptr},
                           {"none of these", nullptr}};
constexpr std::size_t kNone = std::size(kKinds) - 1, kNeighbour = kNone - 1;

struct Seen {
  bool by_report = false, slow = false;
  std::array<bool, kNone + 1> kinds{};
};

// What is seen of each sample of a folder, in the order of time.
std::vector<Seen> seen_in(const Data& data, const Folder& folder) {
  std::map<double, Seen> by_order;
  for (const Implementation& one : implementations()) {
    for (const Point* point : data.of(folder, one.name)) {
      const std::vector<double> order = beside(point, "order");
      const std::vector<bool> slow = unusually_high(point->samples);
      for (std::size_t i = 0; i < order.size(); ++i)
        by_order[order[i]] = {one.name == std::string_view(kReport), slow[i], {}};
      for (std::size_t k = 0; k < kNeighbour; ++k) {
        const std::vector<bool> high = unusually_high(beside(point, kKinds[k].beside));
        for (std::size_t i = 0; i < order.size(); ++i) by_order[order[i]].kinds[k] = high[i];
      }
    }
  }
  std::vector<Seen> all;
  for (const auto& [order, seen] : by_order) all.push_back(seen);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& kinds = all[i].kinds;
    kinds[kNeighbour] = (i > 0 && all[i - 1].slow) || (i + 1 < all.size() && all[i + 1].slow);
    kinds[kNone] = std::none_of(kinds.begin(), kinds.end(), [](bool b) { return b; });
  }
  return all;
}

void coincidences(Record& record, const Data& data) {
  std::array<std::vector<Seen>, 4> groups;  // as the columns of the table
  for (const Folder& folder : data.folders("implementation")) {
    for (const Seen& seen : seen_in(data, folder)) {
      const std::size_t normal = seen.slow ? 0 : 1;
      groups[2 + normal].push_back(seen);
      if (seen.by_report) groups[normal].push_back(seen);
    }
  }
  if (groups[3].empty()) return;
  Rows rows{{"in the same run", "OpenMP static: outliers", "normal runs",
             "all implementations: outliers", "normal runs"},
            {{"runs"}}};
  for (const auto& group : groups) rows.rows[0].push_back(count(group.size()));
  for (std::size_t k = 0; k <= kNone; ++k) {
    rows.rows.push_back({kKinds[k].what});
    for (const auto& group : groups) {
      const auto n = std::count_if(group.begin(), group.end(),
                                   [&](const Seen& seen) { return seen.kinds[k]; });
      const double share = static_cast<double>(n) / static_cast<double>(group.size());
      rows.rows.back().push_back(group.empty() ? Entry()
                                               : fmt::format("{} ({})", n, show_percent(share)));
    }
  }
  add_table(record, "What coincides with outliers", rows,
            "Outliers by the far fence. More, longer: beyond the far fence of the same point. What "
            "is as frequent in normal runs explains nothing.");
}

// What outliers lost, and without any the bytes.
std::pair<double, double> lost_of(const Point* point) {
  const std::vector<bool> slow = unusually_high(point->samples);
  double lost = 0;
  for (std::size_t i = 0; i < slow.size(); ++i)
    if (slow[i]) lost += point->samples[i] - point->median();
  return {lost, point->number("files") * point->number("bytes")};
}

// One by one, the runs beside which outliers of the report's program lost most time.
void order_strip(Record& record, const Data& data) {
  const PointList report = data.points.where({{"implementation", kReport}});
  if (report.empty()) return;
  const Point* most =
      *std::max_element(report.begin(), report.end(),
                        [](const Point* a, const Point* b) { return lost_of(a) < lost_of(b); });
  std::vector<Curve> curves;
  for (const Implementation& one : implementations()) {
    const Point* point = data.points.find(most->factors.with({{"implementation", one.name}}));
    if (point != nullptr)
      curves.push_back({.name = one.title,
                        .x = beside(point, "order"),
                        .y = point->samples,
                        .flagged = unusually_high(point->samples)});
  }
  add_order_chart(
      record, "order",
      fmt::format("All runs of {} files of {} with {} threads, in the order of time",
                  most->text("files"), show(most->number("bytes"), "B"), most->text("threads")),
      "Where outliers of the report's program lost most time. Larger points are outliers by "
      "the far fence.",
      {"time", "s", true}, std::move(curves));
}

// ---- causes ----

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

void removals(Record& record, const Data& data) {
  std::vector<std::string> columns = {"files", "time"};
  for (const Removal& removal : kRemovals) columns.push_back(removal.title);
  columns.insert(columns.end(), {"threads", "page faults", "with kept buffers"});
  const Rows rows = rows_of(columns, data.folders("variant"), [&](const Folder& folder) {
    const Point* whole = data.variant(folder, kProgram);
    const Point* from = whole;
    std::vector<Entry> row = {folder.label(), median_entry(whole)};
    for (const Removal& removal : kRemovals) {
      const Point* to = data.variant(folder, removal.variant);
      row.push_back(to == nullptr ? "not measured" : share_of(*whole, *from, to));
      if (to != nullptr) from = to;
    }
    row.push_back(share_of(*whole, *from, nullptr));
    row.push_back(faults_of(whole));
    row.push_back(faults_of(data.variant(folder, kRemovals[0].variant)));
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

void changes(Record& record, const Data& data) {
  const Rows rows =
      rows_of({"files", "dynamic scheduling", "allocator keeps memory", "page faults then",
               "buffers kept", "copying alone"},
              data.folders("variant"), [&](const Folder& folder) -> std::vector<Entry> {
                const auto ratio = [&](const char* name) {
                  return ratio_entry(data.variant(folder, name), data.variant(folder, kProgram));
                };
                return {folder.label(),
                        ratio(kDynamic),
                        ratio(kMemoryKept),
                        faults_of(data.variant(folder, kMemoryKept)),
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

std::vector<bool> unusually_high(const std::vector<double>& values) {
  std::vector<double> known;
  std::copy_if(values.begin(), values.end(), std::back_inserter(known),
               [](double v) { return !std::isnan(v); });
  double from = std::numeric_limits<double>::infinity();
  if (!known.empty()) {
    const double middle = core::median(known);
    for (const std::size_t i : core::outliers_far_fence(known))
      if (known[i] > middle) from = std::min(from, known[i]);
  }
  std::vector<bool> high;
  for (const double v : values) high.push_back(v >= from);
  return high;
}

void add_views(Record& record, const Points& points, unsigned pus) {
  const Data data{points, pus};
  add_limits(record, data);
  add_best(record, data);
  for (const double files : data.numbers_of_files()) best_threads(record, data, files);
  against_limit(record, data);
  outliers_of_report(record, data);
  outliers_of_all(record, data);
  coincidences(record, data);
  removals(record, data);
  changes(record, data);
  for (const double files : data.numbers_of_files()) {
    for (const Implementation& one : implementations())
      if (one.name == std::string_view(kReport) || one.chooses)
        threads_map(record, data, files, one);
    limit_chart(record, data, files);
  }
  order_strip(record, data);
}

}  // namespace tabane::lab::aes_folder
