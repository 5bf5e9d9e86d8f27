#include "tabane/lab/page/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/output_file.h"
#include "tabane/lab/page/gnuplot.h"
#include "tabane/lab/page/report_style.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/survey.h"

namespace tabane::lab {
namespace {

bool is_stem(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Takes away the figures of the report that is here: they would pass for those of the new one.
void remove_figures(const std::filesystem::path& directory) {
  if (!std::filesystem::exists(directory / "report.html")) return;
  const std::string page = core::read_file(directory / "report.html");
  const bool ours = page.find("<script type=\"application/json\" id=") != std::string::npos;
  const std::string open = "<figure id=\"";
  for (auto at = page.find(open); ours && at != std::string::npos; at = page.find(open, at + 1)) {
    const auto begin = at + open.size();
    const std::string stem = page.substr(begin, page.find('"', begin) - begin);
    std::error_code ignored;
    for (const char* extension : {".gp", ".dat", ".svg"})
      if (is_stem(stem)) std::filesystem::remove(directory / (stem + extension), ignored);
  }
}

}  // namespace

std::optional<std::string> draw(std::vector<Figure>& figures) {
  std::optional<std::string> remark;
  for (auto& figure : figures) {
    Drawing drawing = run_gnuplot(figure.id, figure.script, figure.data);
    figure.svg = std::move(drawing.svg);
    if (drawing.missing)
      return "The report has tables but no drawings: gnuplot is not installed (Debian: "
             "gnuplot-nox).";
    // What hangs once would hang for every figure.
    if (drawing.hangs) return "Figures were not drawn: " + drawing.error;
    if (!drawing.error.empty() && !remark) remark = "A figure was not drawn: " + drawing.error;
  }
  return remark;
}

std::optional<std::string> write_report(const Record& record,
                                        const std::filesystem::path& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) throw core::SystemError("mkdir", directory.string(), failed.value());
  auto figures = make_figures(record);
  auto remark = draw(figures);
  remove_figures(directory);
  for (const auto& figure : figures) {
    core::write_output(directory / (figure.id + ".gp"), figure.script);
    core::write_output(directory / (figure.id + ".dat"), figure.data);
    if (!figure.svg.empty()) core::write_output(directory / (figure.id + ".svg"), figure.svg);
  }
  core::write_output(directory / "report.html", render_html(record, figures));
  return remark;
}

namespace {

std::string e(std::string_view text) { return escape_html(text); }

std::string text_at(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string machine_name(const Record& record) {
  for (const char* key : {"name", "cpu_model"})
    if (const std::string text = text_at(record.machine, key); !text.empty()) return text;
  return "This machine";
}

// ---- the top ----

struct Names {
  std::string brand;    // "tabane study ap1000"
  std::string heading;  // the machine of a survey, the title of others
};

// "tabane study ap1000", or the verb that made the record: "tabane time".
std::string verb_of(const Record& record) {
  const std::string& line = record.command_line;
  if (!line.starts_with("tabane ") || line.starts_with("tabane study"))
    return "tabane study " + record.name;
  return line.substr(0, line.find(' ', line.find(' ') + 1));
}

Names names_of(const Record& record) {
  if (record.kind == Kind::survey) return {"tabane survey", machine_name(record)};
  const std::string& heading = record.title.empty() ? record.name : record.title;
  if (record.kind == Kind::study) return {verb_of(record), heading};
  if (record.kind == Kind::bench) return {"tabane beside its peers", heading};
  return {"tabane compare", heading};
}

std::string head(const Record& record) {
  const Names names = names_of(record);
  return fmt::format(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
      "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
      "<meta name=referrer content=no-referrer>\n"
      "<link rel=icon href=\"data:,\">\n<title>{} · {}</title>\n<style>{}</style></head>\n",
      e(names.heading), e(names.brand), kReportStyle);
}

// The mark: strands bound together.
constexpr const char* kMark =
    "<svg viewBox=\"0 0 24 24\" fill=none stroke=currentColor stroke-width=2 stroke-linecap=round "
    "aria-hidden=true><path d=\"M4 3q6 9 0 18M12 3v18M20 3q-6 9 0 18\"/><path stroke-width=3 "
    "d=\"M6.5 12h11\"/></svg>";

std::string counted(std::size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

// What was measured on which machine.
std::string lead(const Record& record, const std::string& heading) {
  std::vector<std::string> parts;
  for (const std::string& part :
       {record.source, record.kind == Kind::survey ? "" : text_at(record.machine, "name"),
        text_at(record.machine, "cpu_model"), text_at(record.machine, "summary")})
    if (!part.empty() && part != heading &&
        std::find(parts.begin(), parts.end(), part) == parts.end())
      parts.push_back(part);
  return fmt::format("{}", fmt::join(parts, " · "));
}

std::string top(const Record& record) {
  const Names names = names_of(record);
  std::string meta = fmt::format("<span>{}</span>", e(record.started));
  if (record.duration_s > 0)
    meta += fmt::format("<span>took {}</span>", show(record.duration_s, "s"));
  meta += fmt::format("<span>tabane {}</span>", e(record.tabane_version));
  std::vector<std::string> parts;
  if (!record.comparisons.empty())
    parts.push_back(counted(record.comparisons.size(), "comparison"));
  if (!record.results.empty()) parts.push_back(counted(record.results.size(), "result"));
  if (!record.views.empty()) parts.push_back(counted(record.views.size(), "view"));
  if (!parts.empty()) meta += fmt::format("<span>{}</span>", fmt::join(parts, ", "));
  if (record.quick) meta += "<span class=flag>quick: shortened measuring times</span>";
  if (!record.complete) meta += "<span class=flag>incomplete: stopped before the end</span>";
  return fmt::format(
      "<header><div class=brand>{}{}</div><h1>{}</h1><p class=lead>{}</p>"
      "<p class=meta>{}</p></header>\n",
      kMark, e(names.brand), e(names.heading), e(lead(record, names.heading)), meta);
}

std::string survey_sentences(const Record& record) {
  static constexpr std::array<const char*, 3> kTitles = {"Good at", "Limited by", "Looks wrong"};
  std::string out;
  for (std::size_t i = 0; i < record.sentences.size(); ++i) {
    const std::string title = i < kTitles.size() ? kTitles[i] : "Also";
    std::string sentence = record.sentences[i];
    if (sentence.starts_with(title + ": ")) sentence.erase(0, title.size() + 2);
    out += fmt::format("<div><b>{}</b><p>{}</p></div>", title, e(sentence));
  }
  return "<section><div class=say>" + out + "</div></section>\n";
}

// The first box of a survey.
std::string advice_section(const Record& record) {
  if (record.advice.empty() && !can_advise(record)) return "";
  std::string out;
  for (const Advice& advice : record.advice)
    out += fmt::format("<li><b>{}</b><p>{}{}</p>{}</li>", e(advice.change), e(advice.gain),
                       advice.gain.empty() ? "" : ".",
                       advice.command.empty() ? "" : "<code>" + e(advice.command) + "</code>");
  return fmt::format("<section id=advice><h2>What to change here</h2>{}</section>\n",
                     out.empty() ? "<p>Nothing was found that this machine would gain from.</p>"
                                 : "<ol class=advice>" + out + "</ol>");
}

std::string sentences_section(const Record& record) {
  if (record.sentences.empty()) return "";
  if (record.kind == Kind::survey) return survey_sentences(record);
  std::string out = "<section><ul class=findings>";
  for (const std::string& sentence : record.sentences)
    out += fmt::format("<li>{}</li>", e(sentence));
  return out + "</ul></section>\n";
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

std::string tile(const Result& result, const std::string& title) {
  const Shown shown = shown_in(*result.value, result.unit);
  std::string of;
  if (const auto share = result.of_limit())
    of = share_bar(*share, "bar") + fmt::format("<div class=of>{} of {}</div>", show_share(result),
                                                e(show(result.limit->value, result.unit)));
  else if (result.interval)
    of = fmt::format("<div class=of>95 %: {} – {}</div>", shown.number(result.interval->low),
                     shown.number(result.interval->high));
  return fmt::format(
      "<div class=tile><div class=name>{}</div><div class=big>{}<span>{}</span></div>{}</div>",
      e(title), shown.number(*result.value), e(shown.unit), of);
}

std::string headlines_section(const Record& record) {
  if (record.kind != Kind::survey) return "";
  std::string tiles;
  for (const auto& choice : kHeadlines)
    for (const auto& [name, title] : choice) {
      const Result* result = name == nullptr ? nullptr : record.find(name);
      if (result == nullptr || !result->value) continue;
      const std::string pages = text_at(result->details, detail::kPageSize);
      tiles += tile(*result, pages.empty() ? title : fmt::format("{}, {}", title, pages));
      break;
    }
  if (tiles.empty()) return "";
  return "<section id=headlines><h2>At a glance</h2><div class=tiles>" + tiles +
         "</div></section>\n";
}

std::string warnings_section(const Record& record) {
  if (record.warnings.empty()) return "";
  std::string out = "<section id=warnings><h2>Warnings</h2>";
  for (const auto& w : record.warnings)
    out += fmt::format(
        "<div class=warning><div><b>Seen</b><p>{}</p></div><div><b>May mean</b><p>{}</p></div>"
        "<div><b>Do</b><p>{}</p></div></div>",
        e(w.seen), e(w.may_mean), e(w.do_this));
  return out + "</section>\n";
}

// ---- views ----

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

std::string table_view(const View& view) {
  return fmt::format(
      "<figure class=table-only><h3>{}</h3>{}<div class=scroll>{}</div></figure>\n", e(view.title),
      view.note.empty() ? "" : fmt::format("<figcaption><p>{}</p></figcaption>", e(view.note)),
      table_html(view));
}

std::string views_section(const Record& record, const std::vector<Figure>& figures) {
  std::string out;
  auto figure = figures.begin();
  for (const View& view : record.views) {
    if (!is_on_page(record, view)) continue;
    if (figure != figures.end() && figure->view == view.name)
      out += figure_html(*figure++);
    else
      out += table_view(view);
  }
  if (out.empty()) return "";
  const bool drawn =
      figures.empty() || std::any_of(figures.begin(), figures.end(),
                                     [](const Figure& each) { return !each.svg.empty(); });
  return fmt::format(
      "<section id=figures><h2>{}</h2>{}{}</section>\n",
      record.kind == Kind::survey ? "Figures" : "Tables and figures",
      drawn ? ""
            : "<p class=none>Not drawn, because gnuplot did not run: the numbers are here.</p>",
      out);
}

std::string other_tables_section(const Record& record) {
  std::string out;
  for (const View& view : record.views) {
    if (is_on_page(record, view)) continue;
    out += fmt::format(
        "<details><summary>{} <small>{}</small></summary><div class=scroll>{}</div></details>",
        e(view.name), e(view.title), table_html(view));
  }
  return out.empty() ? "" : "<section id=tables><h2>More tables</h2>" + out + "</section>\n";
}

std::string contents(const std::string& body) {
  static constexpr std::array<std::pair<const char*, const char*>, 11> kSections = {
      {{"advice", "What to change"},
       {"headlines", "At a glance"},
       {"warnings", "Warnings"},
       {"figures", "Figures"},
       {"comparisons", "Comparisons"},
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

std::string render_html(const Record& record, const std::vector<Figure>& figures) {
  const std::string body = advice_section(record) + sentences_section(record) +
                           headlines_section(record) + warnings_section(record) +
                           views_section(record, figures) + comparisons_section(record) +
                           other_tables_section(record) + results_section(record) +
                           skipped_section(record) + environment_section(record) +
                           checklist_section(record) + reproduce_section(record, !figures.empty());
  const std::string json = to_json(record).dump(-1, Json::Invalid::replaced);
  return head(record) + "<body>\n" + top(record) + "<main>" + contents(body) + body + "</main>\n" +
         "<script type=\"application/json\" id=record>" + escape_script(json) +
         "</script>\n</body></html>\n";
}

}  // namespace tabane::lab
