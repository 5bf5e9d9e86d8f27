#include "tabane/lab/page/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tabane/core/units.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/survey.h"

namespace tabane::lab {
namespace {

constexpr const char* kReportStyle =
#include "tabane/lab/page/report.css"
    ;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// gnuplot writes a group for every change of its pen, most of them empty.
void remove_empty_groups(std::string& svg) {
  std::string out;
  out.reserve(svg.size());
  std::size_t at = 0;
  while (at < svg.size()) {
    const auto open = svg.find("<g ", at);
    if (open == std::string::npos) break;
    const auto close = svg.find('>', open);
    if (close == std::string::npos) break;
    out.append(svg, at, open - at);
    const auto next = svg.find_first_not_of(" \t\r\n", close + 1);
    if (next != std::string::npos && svg.compare(next, 4, "</g>") == 0) {
      at = next + 4;
      while (at < svg.size() && svg[at] == '\n') ++at;
    } else {
      out.append(svg, open, close + 1 - open);
      at = close + 1;
    }
  }
  out.append(svg, at);
  svg = std::move(out);
}

// Rewrites "rgb(  0, 114, 178)" by `colour_of(0x0072b2)`.
std::string rewrite_colours(const std::string& svg, auto colour_of) {
  std::string out;
  out.reserve(svg.size());
  std::size_t at = 0;
  for (auto open = svg.find("rgb("); open != std::string::npos; open = svg.find("rgb(", at)) {
    unsigned r = 0, g = 0, b = 0;
    const auto close = svg.find(')', open);
    if (close == std::string::npos ||
        std::sscanf(svg.substr(open, close - open).c_str(), "rgb(%u,%u,%u", &r, &g, &b) != 3)
      break;
    out.append(svg, at, open - at);
    out += colour_of(fmt::format("#{:02x}{:02x}{:02x}", r & 255, g & 255, b & 255));
    at = close + 1;
  }
  out.append(svg, at);
  return out;
}

std::string page_colour(const std::string& hex) {
  if (hex == "#000000") return "currentColor";
  for (const auto& colour : figure_colours())
    if (hex == colour.hex) return fmt::format("var(--{},{})", colour.variable, hex);
  return hex;
}

std::string attribute(std::string_view svg, std::string_view name) {
  const auto at = svg.find(fmt::format("{}=\"", name));
  if (at == std::string_view::npos) return "";
  const auto begin = at + name.size() + 2;
  return std::string(svg.substr(begin, svg.find('"', begin) - begin));
}

}  // namespace

std::string inline_svg(std::string_view svg, std::string_view prefix, std::string_view title,
                       std::string_view kind) {
  const auto canvas = svg.find("<g id=\"gnuplot_canvas\"");
  if (canvas == std::string_view::npos) return "";
  const std::string view_box = attribute(svg.substr(0, canvas), "viewBox");
  std::string body(svg.substr(canvas));

  if (const auto background = body.find("<rect x=\"0\" y=\"0\""); background < body.find("<defs>"))
    body.erase(background, body.find("/>", background) + 2 - background);
  for (auto at = body.find("<title>"); at != std::string::npos; at = body.find("<title>"))
    body.erase(at, body.find("</title>", at) + 8 - at);
  remove_empty_groups(body);
  replace_all(body, "fill=\"black\"", "fill=\"currentColor\"");
  replace_all(body, "stroke=\"black\"", "stroke=\"currentColor\"");
  replace_all(body, "color=\"black\"", "color=\"currentColor\"");
  replace_all(body, "font-family=\"sans-serif\" ", "");
  for (const char* id : {"id='", "id=\"", "href='#", "url(#"})
    replace_all(body, id, fmt::format("{}{}-", id, prefix));
  body = rewrite_colours(body, page_colour);
  return fmt::format("<svg class={} viewBox=\"{}\" role=\"img\" aria-label=\"{}\">\n{}", kind,
                     view_box, escape_html(title), body);
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
  if (record.kind == Kind::bench) return {"tabane and its peers", heading};
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

// What was measured on which machine.
std::string lead(const Record& record, const std::string& heading) {
  std::vector<std::string> parts;
  for (const std::string& part :
       {record.source, record.kind == Kind::survey ? "" : text_at(record.machine, "name"),
        text_at(record.machine, "cpu_model"), text_at(record.machine, "summary")})
    if (!part.empty() && part != heading && std::ranges::find(parts, part) == parts.end())
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
    parts.push_back(core::counted(record.comparisons.size(), "comparison"));
  if (!record.results.empty()) parts.push_back(core::counted(record.results.size(), "result"));
  if (!record.views.empty()) parts.push_back(core::counted(record.views.size(), "view"));
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
    {{{"comm.latency", "A message of tabane between processes"}}},
    {{{"simd.dot.l1", "Dot product of tabane in L1"}, {"simd.sum.l1", "Sum of tabane in L1"}}},
    {{{"fork.cost", "A fork"}, {"thread.create", "Starting a thread"}}},
}};

std::string tile(const Result& result, const std::string& title) {
  const Shown shown = shown_in(*result.value, result.unit);
  std::string of;
  if (const auto share = result.of_limit())
    of = share_bar(*share, "bar") +
         fmt::format("<div class=of>{}</div>", e(show_share(result, true)));
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
  const bool turns = tiles.find(" in turn)") != std::string::npos;
  return "<section id=headlines><h2>At a glance</h2><div class=tiles>" + tiles + "</div>" +
         (turns
              ? "<p>In turn: figure and limit are measured alternately, and this is the median of "
                "their ratios, which holds even if the machine's speed changes.</p>"
              : "") +
         "</section>\n";
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
      inline_svg(figure.svg, figure.id, figure.title, "wide") +
      inline_svg(figure.narrow_svg, figure.id + "-narrow", figure.title, "narrow");
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
  const bool picture = std::holds_alternative<Image>(view.content);
  return fmt::format(
      "<figure class=table-only><h3>{}</h3>{}<div{}>{}</div></figure>\n", e(view.title),
      view.note.empty() ? "" : fmt::format("<figcaption><p>{}</p></figcaption>", e(view.note)),
      picture ? "" : " class=scroll", table_html(view));
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
  const bool drawn = figures.empty() || std::ranges::any_of(figures, [](const Figure& each) {
                       return !each.svg.empty();
                     });
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

// A link to each section that has a name, by its heading.
std::string contents(const std::string& body) {
  static constexpr std::string_view kOpen = "<section id=", kMiddle = "><h2>";
  std::string out = "<nav>";
  for (auto at = body.find(kOpen); at != std::string::npos; at = body.find(kOpen, at + 1)) {
    const auto id = at + kOpen.size(), middle = body.find(kMiddle, id);
    const auto title = middle + kMiddle.size();
    out += fmt::format("<a href=\"#{}\">{}</a>", body.substr(id, middle - id),
                       body.substr(title, body.find("</h2>", title) - title));
  }
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
