#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "tabane/lab/figures/figures.h"
#include "tabane/lab/gnuplot.h"
#include "tabane/lab/report.h"
#include "tabane/lab/report_style.h"
#include "tabane/lab/text.h"

namespace tabane::lab {
namespace {

std::string e(std::string_view text) { return escape_html(text); }

std::string text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string machine_name(const SurveyRecord& record) {
  for (const char* key : {"name", "cpu_model"})
    if (const std::string text = text_of(record.machine, key); !text.empty()) return text;
  return "This machine";
}

std::string bar(double share, const char* kind) {
  return fmt::format("<{0} class={1}><i style=\"width:{2:.1f}%\"></i></{0}>",
                     std::string_view(kind) == "bar" ? "div" : "span", kind,
                     100 * std::clamp(share, 0.0, 1.0));
}

// ---- the top ----

std::string head(const SurveyRecord& record) {
  return fmt::format(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
      "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
      "<meta name=referrer content=no-referrer>\n"
      "<link rel=icon href=\"data:,\">\n<title>{} · tabane "
      "survey</title>\n<style>{}</style></head>\n",
      e(machine_name(record)), kReportStyle);
}

// The mark: strands bound together.
constexpr const char* kMark =
    "<svg viewBox=\"0 0 24 24\" fill=none stroke=currentColor stroke-width=2 stroke-linecap=round "
    "aria-hidden=true><path d=\"M4 3q6 9 0 18M12 3v18M20 3q-6 9 0 18\"/><path stroke-width=3 "
    "d=\"M6.5 12h11\"/></svg>";

std::string top(const SurveyRecord& record) {
  std::string meta = fmt::format("<span>{}</span>", e(record.started));
  if (record.duration_s > 0)
    meta += fmt::format("<span>took {}</span>", show(record.duration_s, "s"));
  meta += fmt::format("<span>tabane {}</span>", e(record.tabane_version));
  meta += fmt::format("<span>{} figures, {} tables</span>", record.results.size(),
                      record.tables.size());
  if (record.quick) meta += "<span class=flag>quick: shortened measuring times</span>";
  if (!record.complete) meta += "<span class=flag>incomplete: stopped before the end</span>";
  std::string lead = text_of(record.machine, "cpu_model");
  if (lead == machine_name(record)) lead.clear();
  if (const std::string summary = text_of(record.machine, "summary"); !summary.empty())
    lead += (lead.empty() ? "" : " · ") + summary;
  return fmt::format(
      "<header><div class=brand>{}tabane survey</div><h1>{}</h1><p class=lead>{}</p>"
      "<p class=meta>{}</p></header>\n",
      kMark, e(machine_name(record)), e(lead), meta);
}

std::string sentences_section(const SurveyRecord& record) {
  if (record.sentences.empty()) return "";
  static constexpr std::array<const char*, 3> kTitles = {"Good at", "Limited by", "Looks wrong"};
  std::string out = "<section><div class=say>";
  for (std::size_t i = 0; i < record.sentences.size(); ++i) {
    const std::string title = i < kTitles.size() ? kTitles[i] : "Also";
    std::string sentence = record.sentences[i];
    if (sentence.starts_with(title + ": ")) sentence.erase(0, title.size() + 2);
    out += fmt::format("<div><b>{}</b><p>{}</p></div>", title, e(sentence));
  }
  return out + "</div></section>\n";
}

struct Headline {
  const char* result;
  const char* title;
};

// First of each line that was measured.
constexpr std::array<std::array<Headline, 3>, 9> kHeadlines = {{
    {{{"peak.fma.machine", "Arithmetic, all cores"}, {"peak.fma.core", "Arithmetic, one core"}}},
    {{{"memory.bandwidth.read.dram.machine", "Memory read, all cores"},
      {"memory.bandwidth.read.dram.core", "Memory read, one core"}}},
    {{{"memory.bandwidth.copy.dram.machine", "Memory copy, all cores"},
      {"memory.bandwidth.copy.dram.core", "Memory copy, one core"}}},
    {{{"memory.latency.dram", "Latency of memory"}, {"memory.latency.l3", "Latency of L3"}}},
    {{{"clock.core_rate", "Core rate"}}},
    {{{"core_to_core.latency", "From core to core"}}},
    {{{"comm.latency", "A message between processes"}}},
    {{{"simd.dot.l1", "Dot product in L1"}, {"simd.sum.l1", "Sum in L1"}}},
    {{{"fork.cost", "A fork"}, {"thread.create", "Starting a thread"}}},
}};

std::string tile(const Result& result, const char* title) {
  const Shown shown = shown_in(*result.value, result.unit);
  std::string of;
  if (const auto share = result.of_limit())
    of = bar(*share, "bar") + fmt::format("<div class=of>{} of {}</div>", show_percent(*share),
                                          e(show(result.limit->value, result.unit)));
  else if (result.interval)
    of = fmt::format("<div class=of>95 %: {} – {}</div>", shown.number(result.interval->low),
                     shown.number(result.interval->high));
  return fmt::format(
      "<div class=tile><div class=name>{}</div><div class=big>{}<span>{}</span></div>{}</div>",
      title, shown.number(*result.value), e(shown.unit), of);
}

std::string headlines_section(const SurveyRecord& record) {
  std::string tiles;
  for (const auto& choice : kHeadlines)
    for (const auto& [name, title] : choice) {
      const Result* result = name == nullptr ? nullptr : record.find(name);
      if (result == nullptr || !result->value) continue;
      tiles += tile(*result, title);
      break;
    }
  if (tiles.empty()) return "";
  return "<section id=headlines><h2>At a glance</h2><div class=tiles>" + tiles +
         "</div></section>\n";
}

std::string warnings_section(const SurveyRecord& record) {
  if (record.warnings.empty()) return "";
  std::string out = "<section id=warnings><h2>Warnings</h2>";
  for (const auto& w : record.warnings)
    out += fmt::format(
        "<div class=warning><div><b>Seen</b><p>{}</p></div><div><b>May mean</b><p>{}</p></div>"
        "<div><b>Do</b><p>{}</p></div></div>",
        e(w.seen), e(w.may_mean), e(w.do_this));
  return out + "</section>\n";
}

// ---- figures ----

std::string figure_html(const Figure& figure) {
  const std::string drawing =
      figure.svg.empty() ? "" : inline_svg(figure.svg, figure.id, figure.title);
  const bool drawn = !drawing.empty();
  return fmt::format(
      "<figure id=\"{0}\"{1}><h3>{2}</h3><div class=plot>{3}</div><figcaption><p>{4}</p>{5}"
      "</figcaption><details{6}><summary>The numbers</summary><div class=scroll>{7}</div></details>"
      "</figure>\n",
      e(figure.id), drawn ? "" : " class=table-only", e(figure.title), drawing, e(figure.caption),
      drawn ? fmt::format("<p class=files>{0}.svg, {0}.gp, {0}.dat</p>", e(figure.id)) : "",
      drawn ? "" : " open", figure.data_table_html);
}

std::string figures_section(const std::vector<Figure>& figures) {
  if (figures.empty()) return "";
  std::string out = "<section id=figures><h2>Figures</h2>";
  const bool any = std::any_of(figures.begin(), figures.end(),
                               [](const Figure& figure) { return !figure.svg.empty(); });
  if (!any)
    out += "<p class=none>Not drawn, because gnuplot did not run: the numbers are here.</p>";
  for (const auto& figure : figures) out += figure_html(figure);
  return out + "</section>\n";
}

// Tables that no figure shows.
std::string other_tables_section(const SurveyRecord& record, const std::vector<Figure>& figures) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kDrawnBy = {
      {{"memory.latency", "memory_latency"},
       {"memory.bandwidth", "memory_bandwidth"},
       {"memory.bandwidth.cores", "bandwidth_cores"},
       {"memcpy", "memcpy"},
       {"core_to_core.latency", "core_to_core"},
       {"numa.latency", "numa_latency"},
       {"numa.bandwidth.first", "numa_bandwidth_first"},
       {"numa.bandwidth.second", "numa_bandwidth_second"},
       {"ladder", "ladder"},
       {"fork.cost", "fork_cost"},
       {"clock.core_rate", "core_rate"}}};
  std::set<std::string_view> drawn;
  for (const auto& [table, id] : kDrawnBy)
    for (const auto& figure : figures)
      if (figure.id == id) drawn.insert(table);
  std::string out;
  for (const auto& table : record.tables) {
    if (drawn.contains(table.name)) continue;
    out += fmt::format(
        "<details><summary>{} <small>{}</small></summary><div class=scroll>{}</div></details>",
        e(table.name), e(table.what),
        std::visit([](const auto& content) { return table_html(content); }, table.content));
  }
  return out.empty() ? "" : "<section id=tables><h2>More tables</h2>" + out + "</section>\n";
}

// ---- all results ----

// The samples in the order in which they were taken: drift and bimodality show here.
std::string sparkline(const std::vector<double>& samples) {
  constexpr std::size_t kPoints = 60;
  if (samples.size() < 3) return "";
  const double low = core::quantile(samples, 0.02), high = core::quantile(samples, 0.98);
  std::string points;
  const std::size_t n = std::min(kPoints, samples.size());
  for (std::size_t i = 0; i < n; ++i) {
    const double x = samples[i * (samples.size() - 1) / (n - 1)];
    const double y = high > low ? std::clamp((x - low) / (high - low), -0.1, 1.1) : 0.5;
    if (std::isfinite(y))
      points +=
          fmt::format("{:.1f},{:.1f} ", 82.0 * static_cast<double>(i) / (n - 1) + 1, 16 - 13 * y);
  }
  return fmt::format(
      "<svg class=spark viewBox=\"0 0 84 18\" aria-hidden=true><polyline fill=none "
      "stroke=currentColor stroke-width=1.2 points=\"{}\"/></svg>",
      points);
}

std::string result_row(const Result& r) {
  const Shown shown = shown_in(r.value.value_or(0), r.unit);
  const auto cell = [](const std::string& text) {
    return text.empty() ? std::string("<td class=none>–</td>")
                        : fmt::format("<td class=n>{}</td>", text);
  };
  std::string row = fmt::format("<tr><th>{}<span class=what>{}</span></th>", e(r.name), e(r.what));
  row += cell(r.value ? e(shown(*r.value)) : "");
  row += cell(r.interval ? fmt::format("{} – {}", shown.number(r.interval->low),
                                       shown.number(r.interval->high))
                         : "");
  row += r.limit ? fmt::format("<td class=n title=\"{}\">{}</td>", e(r.limit->how),
                               e(show(r.limit->value, r.unit)))
                 : "<td class=none>–</td>";
  const auto share = r.of_limit();
  row += cell(share ? show_percent(*share) + bar(*share, "share") : "");
  row += cell(r.samples.empty() ? "" : std::to_string(r.samples.size()));
  row += fmt::format("<td>{}</td><td class=n>{}</td></tr>", sparkline(r.samples), r.version);
  return row;
}

std::string results_section(const SurveyRecord& record) {
  if (record.results.empty()) return "";
  std::string out =
      "<section id=results><h2>All results</h2><p>Medians with their 95 % interval from order "
      "statistics. Figures of different versions of a probe must not be compared.</p>"
      "<div class=\"scroll full\"><table><thead><tr><th>result</th><th class=n>median</th>"
      "<th class=n>95 % interval</th><th class=n>limit</th><th class=n>share</th>"
      "<th class=n>samples</th><th>in order</th><th "
      "class=n>version</th></tr></thead><tbody>";
  std::string family;
  for (const auto& result : record.results) {
    const std::string now = result.name.substr(0, result.name.find('.'));
    if (now != family) out += fmt::format("<tr class=group><th colspan=8>{}</th></tr>", e(now));
    family = now;
    out += result_row(result);
  }
  return out + "</tbody></table></div></section>\n";
}

std::string skipped_section(const SurveyRecord& record) {
  if (record.skipped.empty()) return "";
  std::string out =
      "<section id=skipped><h2>Not measured</h2><div class=\"scroll full\"><table><tbody>";
  for (const auto& s : record.skipped)
    out += fmt::format("<tr><th>{}</th><td>{}</td></tr>", e(s.name), e(s.reason));
  return out + "</tbody></table></div></section>\n";
}

// ---- what surrounds them ----

std::string plain(const Json& value) {
  if (value.is_null()) return "<span class=none>not readable</span>";
  if (value.is_string()) return e(value.get_ref<const std::string&>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  return e(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string environment_section(const SurveyRecord& record) {
  if (record.environment.empty()) return "";
  std::string out = "<section id=environment><h2>Environment</h2><div class=groups>";
  for (const auto& [name, group] : record.environment.items()) {
    out += fmt::format("<div class=group><h3>{}</h3><dl>", e(name));
    if (group.is_object()) {
      for (const auto& [key, value] : group.items())
        out += fmt::format("<dt>{}</dt><dd>{}</dd>", e(key), plain(value));
    } else {
      out += fmt::format("<dt></dt><dd>{}</dd>", plain(group));
    }
    out += "</dl></div>";
  }
  return out + "</div></section>\n";
}

std::string checklist_section(const SurveyRecord& record) {
  const auto rows = record.checklist.empty() ? fill_checklist(record) : record.checklist;
  std::string out =
      "<section id=checklist><h2>How far to trust this</h2><p>Twelve rules for benchmarks, after "
      "Hoefler and Belli (SC'15), filled in from this record.</p><div class=\"scroll full\"><table>"
      "<thead><tr><th></th><th>rule</th><th>status</th><th>evidence</th></tr></thead><tbody>";
  for (const auto& row : rows) {
    const char* kind = row.status == "kept" ? "kept" : row.status == "partly" ? "partly" : "na";
    out += fmt::format(
        "<tr><td class=n>{}</td><td>{}</td><td class=\"status {}\">{}</td><td>{}</td></tr>",
        e(row.rule), e(row.text), kind, e(row.status), e(row.evidence));
  }
  return out + "</tbody></table></div></section>\n";
}

std::string reproduce_section(const SurveyRecord& record) {
  return fmt::format(
      "<section id=reproduce><h2>Do it again</h2><pre>{}</pre><p>with tabane {}. The survey itself "
      "is inside this page, in the element <code>survey</code>; every figure can be drawn again "
      "with "
      "<code>gnuplot NAME.gp</code> in the report's directory.</p></section>\n",
      e(record.command_line.empty() ? "tabane survey" : record.command_line),
      e(record.tabane_version));
}

std::string contents(const std::string& body) {
  static constexpr std::array<std::pair<const char*, const char*>, 9> kSections = {
      {{"headlines", "At a glance"},
       {"warnings", "Warnings"},
       {"figures", "Figures"},
       {"tables", "More tables"},
       {"results", "All results"},
       {"skipped", "Not measured"},
       {"environment", "Environment"},
       {"checklist", "Checklist"},
       {"reproduce", "Do it again"}}};
  std::string out = "<nav>";
  for (const auto& [id, title] : kSections)
    if (body.find(fmt::format("<section id={}>", id)) != std::string::npos)
      out += fmt::format("<a href=\"#{}\">{}</a>", id, title);
  return out + "</nav>";
}

}  // namespace

std::string render_html(const SurveyRecord& record, const std::vector<Figure>& figures) {
  const std::string body = sentences_section(record) + headlines_section(record) +
                           warnings_section(record) + figures_section(figures) +
                           other_tables_section(record, figures) + results_section(record) +
                           skipped_section(record) + environment_section(record) +
                           checklist_section(record) + reproduce_section(record);
  const std::string json = to_json(record).dump(-1, ' ', false, Json::error_handler_t::replace);
  return head(record) + "<body>\n" + top(record) + "<main>" + contents(body) + body + "</main>\n" +
         "<script type=\"application/json\" id=survey>" + escape_script(json) +
         "</script>\n</body></html>\n";
}

}  // namespace tabane::lab
