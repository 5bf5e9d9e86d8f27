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

// ---- points and rows ----

std::array<const Record*, 2> reports() {
  return {&published("aes-folder-xeon"), &published("aes-folder-phi")};
}

const std::vector<PublishedRuns>& published_runs(const Record& report) {
  static std::map<std::string, std::vector<PublishedRuns>> all;
  std::vector<PublishedRuns>& runs = all[report.name];
  if (!runs.empty()) return runs;
  for (const std::vector<Entry>& row : find_content<Rows>(report, "aes-folder.runs")->rows) {
    // files, bytes, threads; in ms: mean, minimum, maximum; normal runs, their mean, their maximum
    const auto number = [&](std::size_t i) { return std::stod(row.at(i).text); };
    PublishedRuns one{
        .folder = {static_cast<std::uint64_t>(number(0)), static_cast<std::uint64_t>(number(1))},
        .threads = number(2),
        .minimum = number(4) / 1e3,
        .maximum = number(5) / 1e3};
    if (!row[3].none()) one.mean = number(3) / 1e3;
    if (!row[6].none()) one.normal_runs = number(6), one.normal_mean = number(7) / 1e3;
    runs.push_back(one);
  }
  return runs;
}

std::vector<double> normal_runs(const Point& point) {
  std::vector<double> normal = point.samples;
  const std::vector<std::size_t> abnormal = core::outliers_mean_plus(point.samples);
  for (auto i = abnormal.rbegin(); i != abnormal.rend(); ++i)
    normal.erase(normal.begin() + static_cast<std::ptrdiff_t>(*i));
  return normal;
}

std::vector<double> beside(const Point& point, const char* name) {
  const auto at = point.beside.find(name);
  if (at != point.beside.end()) return at->second;
  return std::vector<double>(point.samples.size(), std::numeric_limits<double>::quiet_NaN());
}

namespace {

bool chosen(const Point* point) { return !point->factors.find("threads")->is_number(); }

// As the report: where runs were abnormal, of the others.
double mean_of(const Point* point) { return core::mean(normal_runs(*point)); }

std::string size_text(const Factors& row) { return show(row.number("bytes"), "B"); }

}  // namespace

double threads_of(const Point& point) {
  return chosen(&point) ? core::median(beside(point, "threads_taken")) : point.number("threads");
}

std::vector<Factors> folders(const Points& points, const char* kind, double files) {
  std::vector<Factors> found = combinations(points, {"bytes", "files"});
  std::erase_if(found, [&](const Factors& row) {
    if (files != 0 && row.number("files") != files) return true;
    return points.words(kind, row).empty();
  });
  return found;
}

Entry folder_label(const Points&, const Factors& row) {
  return row.text("files") + " x " + size_text(row);
}

const Point* fastest_copy(const Points& points, const Factors& row, double threads) {
  PointList copies = points.where(
      {{"implementation", kCopy}, {"files", *row.find("files")}, {"bytes", *row.find("bytes")}});
  std::erase_if(copies, [=](const Point* copy) { return threads_of(*copy) > threads; });
  return fastest(copies);
}

std::string folder_name(const Factors& row) {
  return fmt::format("files{:.0f}.bytes{:.0f}", row.number("files"), row.number("bytes"));
}

Pick best_of(const std::string& who) {
  return Pick([who](const Points& points, const Factors& row) -> const Point* {
    PointList imposed = points.where(
        {{"implementation", who}, {"files", *row.find("files")}, {"bytes", *row.find("bytes")}});
    std::erase_if(imposed, chosen);
    const auto least = std::ranges::min_element(imposed, {}, mean_of);
    return least == imposed.end() ? nullptr : *least;
  });
}

namespace {

// ---- results ----

std::string threads_text(const Level& threads) {
  return threads.text() + (threads == Level(1) ? " thread" : " threads");
}

void add_limits(Record& record, const Points& points) {
  for (Result& result : record.results) {
    const Level* who = result.factors.find("implementation");
    if (who == nullptr || who->word() == kCopy) continue;
    const Point* point = points.find(result.factors);
    if (point == nullptr) continue;
    if (const Point* copy = fastest_copy(points, result.factors, threads_of(*point)))
      result.limit =
          Limit{copy->median(), fmt::format("plain copying of the same files with {}, in turn",
                                            threads_text(*copy->factors.find("threads")))};
  }
}

// The figures that the report publishes.
void add_best(const StudyViews& views) {
  const Pick best = best_of(kReport);
  for (const Factors& row : folders(views.points, "implementation")) {
    const Point* point = best(views.points, row);
    if (point == nullptr) continue;
    add_result(views.record, "best." + folder_name(row),
               "mean time of the normal runs of the report's program at its best number of threads",
               {mean_of(point), "s"}, Better::lower)
        .details = {{"threads", threads_of(*point)}};
  }
}

// ---- threads ----

// "2, 3.06 ms"
Entry threads_and_mean(const Point& point) {
  Entry entry(mean_of(&point), "s");
  entry.text = fmt::format("{:g},", threads_of(point));
  return entry;
}

Cell published_best(const Record& report) {
  return [&report](const Points&, const Factors& row) {
    const std::string name = "aes_folder.best." + folder_name(row);
    Entry entry = published_entry(report, name);
    if (const Result* found = report.find(name))
      entry.text = fmt::format("{:g},", found->number_detail("threads").value_or(0));
    return entry;
  };
}

void best_threads(const StudyViews& views, double files) {
  std::vector<Column> columns = {{"file size", level_of("bytes", "B")}};
  for (const Implementation& one : implementations()) {
    if (one.decrypts) continue;
    const Factors chooses{{"implementation", one.name}, {"threads", kAutomatic}};
    columns.push_back(
        {one.title, shown_of(one.on_device ? Pick(chooses) : best_of(one.name), threads_and_mean)});
  }
  for (const Record* report : reports())
    columns.push_back({report->machine.at("name").text(), published_best(*report)});
  views.table("best_threads", columns, folders(views.points, "implementation", files),
              {{"files", fmt::format("{:.0f}", files)}});
}

// ---- the report's tables ----

// In one line of a page.
std::string unbroken(std::string text) {
  for (std::size_t at = 0; (at = text.find(' ', at)) != text.npos; at += 2)
    text.replace(at, 1, "\u00A0");
  return text;
}

std::string range(double low, double high) {
  return unbroken(text_of({low, "s"}) + " to " + text_of({high, "s"}));
}

// "23 of 100; others 204 ms"
Entry abnormal(double runs, double normal, double normal_mean) {
  if (runs == normal) return count_entry(0);
  return unbroken(
      fmt::format("{:g} of {:g}; others {}", runs - normal, runs, text_of({normal_mean, "s"})));
}

void times(const StudyViews& views, double files) {
  std::vector<std::string> heads = {"file size", "threads", "mean", "range", "abnormal"};
  for (const Record* report : reports()) {
    const std::string name = report->machine.at("name").text();
    heads.insert(heads.end(), {name + ": mean", "range", "abnormal"});
  }
  const Factors what{{"implementation", kReport}, {"files", files}};
  const auto row_of = [&](const Factors& row) -> std::vector<Entry> {
    const Point& point = *views.points.find(row.with(what));
    const std::vector<double> normal = normal_runs(point);
    const auto [low, high] = std::ranges::minmax(point.samples);
    std::vector<Entry> entries = {size_text(row),
                                  count_entry(row.number("threads")),
                                  {core::mean(point.samples), "s"},
                                  range(low, high),
                                  abnormal(static_cast<double>(point.samples.size()),
                                           static_cast<double>(normal.size()), core::mean(normal))};
    for (const Record* report : reports()) {
      const auto& runs = published_runs(*report);
      const auto found = std::ranges::find_if(runs, [&](const PublishedRuns& one) {
        return static_cast<double>(one.folder.files) == files &&
               static_cast<double>(one.folder.bytes) == row.number("bytes") &&
               one.threads == row.number("threads");
      });
      if (found == runs.end()) {
        entries.insert(entries.end(), 3, Entry());
        continue;
      }
      entries.push_back(found->mean ? Entry(*found->mean, "s") : Entry("not legible"));
      entries.push_back(range(found->minimum, found->maximum));
      entries.push_back(abnormal(100, found->normal_runs, found->normal_mean.value_or(0)));
    }
    return entries;
  };
  views.table("times",
              rows_of(heads, combinations(views.points, {"bytes", "threads"}, what), row_of),
              {{"files", fmt::format("{:.0f}", files)}});
}

Pick limit_with(const Level& threads) {
  return Pick([most = threads.number()](const Points& points, const Factors& row) {
    return fastest_copy(points, row, most);
  });
}

void decryption(const StudyViews& views, const Level& pus) {
  const auto who = [&](const char* name) {
    return Factors{{"implementation", name}, {"threads", pus}};
  };
  const Factors report = who(kReport), cbc = who("tabane_cbc"), gcm = who("tabane_gcm"),
                report_back = who("report_decrypting"), cbc_back = who("tabane_cbc_decrypting"),
                gcm_back = who("tabane_gcm_decrypting");
  views.table("decryption",
              {{"files", folder_label},
               {"OpenMP static: encrypting", time_of(report)},
               {"decrypting", time_of(report_back)},
               {"decrypting / encrypting", ratio_of(report_back, report)},
               {"tabane CBC: encrypting", time_of(cbc)},
               {"decrypting", time_of(cbc_back)},
               {"decrypting / encrypting", ratio_of(cbc_back, cbc)},
               {"tabane GCM: encrypting", time_of(gcm)},
               {"decrypting", time_of(gcm_back)},
               {"decrypting / encrypting", ratio_of(gcm_back, gcm)},
               {"OpenMP / copying", ratio_of(report_back, limit_with(pus))}},
              having(folders(views.points, "implementation"), views.points, {report_back}));
}

void threads_map(const StudyViews& views, double files, const Implementation& one) {
  const auto mean_to_copy = [&](const Points& points, const Factors& row) {
    const Point* point = points.find(row.with({{"implementation", one.name}}));
    const Point* copy = best_of(kCopy)(points, row);
    if (point == nullptr || copy == nullptr) return Entry();
    return Entry(mean_of(point) / mean_of(copy), "ratio");
  };
  std::vector<Factors> threads;
  for (const double number :
       views.points.numbers("threads", {{"implementation", one.name}, {"files", files}}))
    threads.push_back({{"threads", number}});
  const std::vector<Factors> columns = folders(views.points, "implementation", files);
  Matrix map = matrix_of(mean_to_copy, views.points, threads, columns);
  std::ranges::transform(columns, map.columns.begin(), size_text);
  map.unit = "ratio";
  map.row_axis = "threads";
  map.column_axis = "file size";
  map.colours = core::Interval{1, 16};  // the same in all maps, so that they can be compared
  const std::string count = fmt::format("{:.0f}", files);
  views.chart(fmt::format("threads.{}.{}", one.name, count), std::move(map),
              {{"implementation", one.title}, {"files", count}}, "threads");
}

// ---- against the limit ----

void against_limit(const StudyViews& views, const Level& pus) {
  Rows rows{{"files, threads", "runs", "copying", "OpenMP static", "tabane CBC", "tabane GCM",
             "static / copying", "CBC / copying", "GCM / copying", "CBC / static", "GCM / static"},
            {}};
  // All have as many threads, or each has its own choice.
  const auto add = [&](const Factors& folder, const std::string& title, const Level& others,
                       const Level& tabane) {
    const auto find = [&](const char* who, const Level& threads) {
      return views.points.find(folder.with({{"implementation", who}, {"threads", threads}}));
    };
    const Point *copy = fastest_copy(views.points, folder, others.number()),
                *report = find(kReport, others), *cbc = find("tabane_cbc", tabane),
                *gcm = find("tabane_gcm", tabane);
    if (copy == nullptr || (cbc == nullptr && gcm == nullptr)) return;
    std::vector<Entry> row = {folder_label(views.points, folder).text + ", " + title,
                              count_entry(static_cast<double>(copy->samples.size()))};
    for (const Point* point : {copy, report, cbc, gcm}) row.push_back(median_entry(point));
    for (const auto& [a, b] :
         {std::pair(report, copy), {cbc, copy}, {gcm, copy}, {cbc, report}, {gcm, report}}) {
      const auto ratio = ratio_in_turn(a, b);
      row.push_back(ratio && ratio->undecided() ? "no difference seen" : ratio_entry(a, b));
    }
    rows.rows.push_back(std::move(row));
  };
  for (const Factors& folder : folders(views.points, "implementation")) {
    if (pus != Level(1)) add(folder, "1 thread", 1, 1);
    add(folder, threads_text(pus), pus, pus);
    add(folder, "each chooses", pus, kAutomatic);
  }
  views.table("against_limit", std::move(rows));
}

void limit_chart(const StudyViews& views, double files, const Level& pus) {
  Curves curves{{"file size", "B", true}, {"time, copying = 1", "", true}, {}};
  curves.marks.push_back({.at = 1, .label = "", .vertical = false});
  std::vector<std::string> ends;
  const Factors threads{{"threads", pus}};
  for (const Implementation& one : implementations()) {
    if (one.name == std::string_view(kCopy) || one.decrypts) continue;
    const Curve curve =
        curve_of(one.title, ratio_of(threads.with({{"implementation", one.name}}), limit_with(pus)),
                 views.points, folders(views.points, "implementation", files), "bytes");
    if (curve.x.empty()) continue;
    curves.series.push_back(curve);
    ends.push_back(fmt::format("{} {:.2f} at {} and {:.2f} at {}", curve.name, curve.y.front(),
                               show(curve.x.front(), "B"), curve.y.back(),
                               show(curve.x.back(), "B")));
  }
  const std::string count = fmt::format("{:.0f}", files);
  views.chart("limit." + count, std::move(curves), {{"files", count}, {"ends", join(ends)}},
              "limit");
}

// ---- causes: variants of the report's program ----

Entry page_faults(const Point& point) {
  return {std::round(core::median(beside(point, "page_faults"))), "1"};
}

// Median over the rounds of (from - to) / whole; none if no difference is seen. to: null: nothing.
Entry share_of(const Point& whole, const Point& from, const Point* to) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < whole.samples.size(); ++i)
    shares.push_back((from.samples[i] - (to == nullptr ? 0 : to->samples[i])) / whole.samples[i]);
  if (core::median_interval(shares).contains(0)) return {};
  return {core::median(shares), "share"};
}

void causes(const StudyViews& views, const Level& pus) {
  const Points& points = views.points;
  const std::vector<Factors> rows = folders(points, "variant");
  const auto variant = [&](const char* name) {
    return Factors{{"variant", name}, {"threads", pus}};
  };
  const Factors program = variant(kProgram), kept_buffers = variant(kVariants[1].name);
  std::vector<std::string> heads = {"files", "time"};
  for (const Variant& one : kVariants)
    if (one.removed != nullptr) heads.emplace_back(one.removed);
  heads.insert(heads.end(), {"threads", "page faults", "with kept buffers"});
  views.table("removals", rows_of(heads, rows, [&](const Factors& row) -> std::vector<Entry> {
                const Point* whole = points.find(row.with(program));
                if (whole == nullptr) return {};
                const Point* from = whole;
                std::vector<Entry> entries = {folder_label(points, row), median_entry(whole)};
                for (const Variant& one : kVariants) {
                  if (one.removed == nullptr) continue;
                  const Point* to = points.find(row.with(variant(one.name)));
                  entries.push_back(to == nullptr ? "not measured" : share_of(*whole, *from, to));
                  if (to != nullptr) from = to;
                }
                entries.push_back(share_of(*whole, *from, nullptr));
                for (const Factors& one : {program, kept_buffers})
                  entries.push_back(shown_of(one, page_faults)(points, row));
                return entries;
              }));
  views.table("changes",
              {{"files", folder_label},
               {"dynamic scheduling", ratio_of(variant(kDynamic), program)},
               {"allocator keeps memory", ratio_of(variant(kMemoryKept), program)},
               {"page faults then", shown_of(variant(kMemoryKept), page_faults)},
               {"buffers kept", ratio_of(kept_buffers, program)},
               {"copying alone", ratio_of(variant(kCopying), program)}},
              rows);
}

}  // namespace

void add_views(Record& record, const Points& points, unsigned threads) {
  const Level pus = threads;
  const StudyViews views{record, points, *reports()[0], {{"pus", pus.text()}}};
  add_limits(record, points);
  if (points.size() == 0) return;
  const std::vector<double> numbers_of_files = points.numbers("files");
  add_best(views);
  for (const double files : numbers_of_files) best_threads(views, files);
  for (const double files : numbers_of_files) times(views, files);
  against_limit(views, pus);
  decryption(views, pus);
  add_outlier_tables(views);
  causes(views, pus);
  for (const double files : numbers_of_files) {
    for (const Implementation& one : implementations())
      if (one.name == std::string_view(kReport) || one.chooses) threads_map(views, files, one);
    limit_chart(views, files, pus);
  }
  add_order_of_runs(views);
}

}  // namespace tabane::lab::aes_folder
