// The tables and charts of the study aes-folder, with the report's figures.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tabane/core/statistics.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/record/text.h"
#include "tabane/studies/aes_folder/aes_folder.h"

namespace tabane::lab::aes_folder {

// ---- points and rows ----

std::array<const Record*, 2> reports() {
  return {&published("aes-folder-xeon"), &published("aes-folder-phi")};
}

std::vector<double> beside(const Point& point, const char* name) {
  const auto at = point.beside.find(name);
  if (at != point.beside.end()) return at->second;
  return std::vector<double>(point.samples.size(), std::numeric_limits<double>::quiet_NaN());
}

namespace {

bool chosen(const Point* point) { return !point->factors.find("threads")->is_number(); }

double mean_of(const Point* point) { return core::mean(point->samples); }

std::string size_text(const Factors& row) { return show(row.find("bytes")->number(), "B"); }

}  // namespace

double threads_of(const Point& point) {
  return chosen(&point) ? core::median(beside(point, "threads_taken")) : point.number("threads");
}

std::vector<Factors> folders(const Points& points, const char* kind, double files) {
  std::vector<Factors> found = combinations(points, {"bytes", "files"});
  std::erase_if(found, [&](const Factors& row) {
    if (files != 0 && row.find("files")->number() != files) return true;
    return points.words(kind, row).empty();
  });
  return found;
}

Entry folder_label(const Points&, const Factors& row) {
  return row.find("files")->text() + " x " + size_text(row);
}

std::string folder_name(const Factors& row) {
  return fmt::format("files{:.0f}.bytes{:.0f}", row.find("files")->number(),
                     row.find("bytes")->number());
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

// Copying the same files with as many threads is the limit of a result.
void add_limits(Record& record, const Points& points) {
  for (Result& result : record.results) {
    const Level* who = result.factors.find("implementation");
    if (who == nullptr || who->word() == kCopy) continue;
    Factors wanted = result.factors.with({{"implementation", kCopy}});
    if (const Point* point = points.find(result.factors)) wanted.set("threads", threads_of(*point));
    if (const Point* copy = points.find(wanted))
      result.limit = Limit{copy->median(),
                           fmt::format("plain copying of the same files with {} threads, in turn",
                                       copy->text("threads"))};
  }
}

// The figures that the report publishes.
void add_best(const StudyViews& views) {
  const Pick best = best_of(kReport);
  for (const Factors& row : folders(views.points, "implementation")) {
    const Point* point = best(views.points, row);
    if (point == nullptr) continue;
    add_result(views.record, "best." + folder_name(row),
               "mean time of the report's program at its best number of threads",
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
    const Factors chooses{{"implementation", one.name}, {"threads", kAutomatic}};
    columns.push_back(
        {one.title, shown_of(one.on_device ? Pick(chooses) : best_of(one.name), threads_and_mean)});
  }
  for (const Record* report : reports())
    columns.push_back({report->machine.at("name").text(), published_best(*report)});
  views.table("best_threads", columns, folders(views.points, "implementation", files),
              {{"files", fmt::format("{:.0f}", files)}});
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

// A folder, and the threads: all have as many, or each has its own choice.
std::vector<Factors> rows_against_limit(const Points& points, const Level& pus) {
  std::vector<Factors> rows;
  for (const Factors& folder : folders(points, "implementation")) {
    const auto add = [&](const std::string& title, const Level& others, const Level& tabane) {
      const Factors row = folder.with({{"title", title}, {"others", others}, {"tabane", tabane}});
      const auto measured = [&](const char* who, const Level& threads) {
        return points.find(folder.with({{"implementation", who}, {"threads", threads}})) != nullptr;
      };
      if (measured(kCopy, others) &&
          (measured("tabane_cbc", tabane) || measured("tabane_gcm", tabane)))
        rows.push_back(row);
    };
    if (pus != Level(1)) add("1 thread", 1, 1);
    add(pus.text() + (pus == Level(1) ? " thread" : " threads"), pus, pus);
    add("each chooses", pus, kAutomatic);
  }
  return rows;
}

// The point of the row's folder with the row's threads of `whose`: "others" or "tabane".
Pick with_threads(const char* who, const char* whose) {
  return Pick([=](const Points& points, const Factors& row) {
    return points.find({{"implementation", who},
                        {"files", *row.find("files")},
                        {"bytes", *row.find("bytes")},
                        {"threads", *row.find(whose)}});
  });
}

// a / b in turn with its interval, where a difference is seen.
Cell compared(const Pick& a, const Pick& b) {
  return [a, b](const Points& points, const Factors& row) {
    const Point *one = a(points, row), *other = b(points, row);
    const auto ratio = ratio_in_turn(one, other);
    return ratio && ratio->undecided() ? Entry("no difference seen") : ratio_entry(one, other);
  };
}

void against_limit(const StudyViews& views, const Level& pus) {
  const Pick copy = with_threads(kCopy, "others"), report = with_threads(kReport, "others"),
             cbc = with_threads("tabane_cbc", "tabane"), gcm = with_threads("tabane_gcm", "tabane");
  views.table("against_limit",
              {{"files, threads",
                [](const Points& points, const Factors& row) {
                  return Entry(folder_label(points, row).text + ", " + row.find("title")->word());
                }},
               {"runs", shown_of(copy,
                                 [](const Point& point) {
                                   return count_entry(static_cast<double>(point.samples.size()));
                                 })},
               {"copying", time_of(copy)},
               {"OpenMP static", time_of(report)},
               {"tabane CBC", time_of(cbc)},
               {"tabane GCM", time_of(gcm)},
               {"static / copying", compared(report, copy)},
               {"CBC / copying", compared(cbc, copy)},
               {"GCM / copying", compared(gcm, copy)},
               {"CBC / static", compared(cbc, report)},
               {"GCM / static", compared(gcm, report)}},
              rows_against_limit(views.points, pus));
}

void limit_chart(const StudyViews& views, double files, const Level& pus) {
  Curves curves{{"file size", "B", true}, {"time, copying = 1", "", true}, {}};
  curves.marks.push_back({.at = 1, .label = "", .vertical = false});
  std::vector<std::string> ends;
  const Factors threads{{"threads", pus}}, copy = threads.with({{"implementation", kCopy}});
  for (const Implementation& one : implementations()) {
    if (one.name == std::string_view(kCopy)) continue;
    const Curve curve =
        curve_of(one.title, ratio_of(threads.with({{"implementation", one.name}}), copy),
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
  const auto variant = [&](const char* name) {
    return Factors{{"variant", name}, {"threads", pus}};
  };
  const Factors program = variant(kProgram), kept_buffers = variant(kRemovals[0].variant);
  std::vector<std::string> heads = {"files", "time"};
  for (const Removal& removal : kRemovals) heads.push_back(removal.title);
  heads.insert(heads.end(), {"threads", "page faults", "with kept buffers"});
  const std::vector<Factors> rows = folders(views.points, "variant");
  const Points& points = views.points;
  views.table("removals", rows_of(heads, rows, [&](const Factors& row) {
                const Point* whole = points.find(row.with(program));
                const Point* from = whole;
                if (whole == nullptr) return std::vector<Entry>();
                std::vector<Entry> entries = {folder_label(points, row), median_entry(whole)};
                for (const Removal& removal : kRemovals) {
                  const Point* to = points.find(row.with(variant(removal.variant)));
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
  against_limit(views, pus);
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
