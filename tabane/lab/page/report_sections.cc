// The tables of the page: comparisons, results, and what surrounds them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "tabane/core/statistics.h"
#include "tabane/lab/page/plot.h"
#include "tabane/lab/page/report.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/survey.h"

namespace tabane::lab {

std::string share_bar(double share, const char* kind) {
  return fmt::format("<{0} class={1}><i style=\"width:{2:.1f}%\"></i></{0}>",
                     std::string_view(kind) == "bar" ? "div" : "span", kind,
                     100 * std::clamp(share, 0.0, 1.0));
}

namespace {

constexpr const char* kNone = "<td class=none>–</td>";

std::string number(const Entry& entry) {
  return entry.none() ? kNone : fmt::format("<td class=n>{}</td>", escape_html(text_of(entry)));
}

std::string section(const char* id, const char* title, const std::string& about,
                    const std::string& table) {
  return fmt::format(
      "<section id={}><h2>{}</h2>{}<div class=\"scroll full\"><table>{}</tbody></table></div>"
      "</section>\n",
      id, title, about.empty() ? "" : "<p>" + about + "</p>", table);
}

// ---- comparisons with peers ----

std::string met(const Comparison& c) {
  const auto reached = c.met();
  if (!reached) return kNone;
  return *reached ? "<td class=\"status kept\">met</td>"
                  : "<td class=\"status missed\">missed</td>";
}

std::string peer_row(const Comparison& c) {
  Entry ratio;
  if (c.ratio) ratio = Entry(c.ratio->value, "ratio", c.ratio->interval);
  const bool same = c.ratio && c.ratio->undecided();
  return fmt::format("{}<td>{}<span class=what>{}</span></td>{}<td class=n>{}{}</td>{}{}</tr>",
                     number({c.ours, c.unit}), escape_html(c.peer_name), escape_html(c.peer_how),
                     number({c.peer, c.unit}), escape_html(text_of(ratio)),
                     same ? "<span class=what>no difference seen</span>" : "",
                     number({c.target, "ratio"}), met(c));
}

std::string figure_row(const Comparison& c) {
  const std::string bound =
      c.limit ? fmt::format("<td class=n>{} {}</td>", c.at_least ? "at least" : "at most",
                            escape_html(text_of(Entry(c.limit, c.unit))))
              : kNone;
  return fmt::format("{}<td colspan=3>{}</td>{}{}</tr>", number({c.value, c.unit}),
                     escape_html(c.figure), bound, met(c));
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

std::string states_of(const Result& r) {
  const auto states = r.states();
  if (!states) return "";
  return fmt::format("<span class=what>two states: {} for {} of the time, else {}</span>",
                     escape_html(show(states->high, r.unit)), show_percent(states->high_share),
                     escape_html(show(states->low, r.unit)));
}

std::string share_of(const Result& r) {
  const auto share = r.share_of_limit();
  if (!share) return "";
  std::string text = show_share(r) + share_bar(share->value, "share");
  if (share->pairs > 1 && r.better != Better::lower)
    text += fmt::format("<span class=what>in turn {} – {}</span>",
                        show_percent(share->interval.low), show_percent(share->interval.high));
  return text;
}

// Where the window is narrow, names go on below after a point.
std::string name_with_breaks(const std::string& name) {
  std::string text;
  for (const char c : escape_html(name)) {
    text += c;
    if (c == '.') text += "<wbr>";
  }
  return text;
}

std::string result_row(const Result& r) {
  const Shown shown = shown_in(r.value.value_or(0), r.unit);
  const auto cell = [](const std::string& text) {
    return text.empty() ? kNone : fmt::format("<td class=n>{}</td>", text);
  };
  const auto block = r.number_detail("block_bytes_of_the_best");
  std::string row =
      fmt::format("<tr><th>{}<span class=what>{}{}{}</span></th>", name_with_breaks(r.name),
                  escape_html(r.what), block ? ": " + show(*block, "B") : "",
                  r.version > 1 ? fmt::format("; version {}", r.version) : "");
  row += r.value ? fmt::format("<td class=n>{}{}</td>", escape_html(shown(*r.value)), states_of(r))
         : r.reason.empty()
             ? kNone
             : fmt::format("<td class=none>not measured<span class=what>{}</span></td>",
                           escape_html(r.reason));
  row += cell(r.interval ? fmt::format("{} – {}", shown.number(r.interval->low),
                                       shown.number(r.interval->high))
                         : "");
  row += r.limit ? fmt::format("<td class=n title=\"{}\">{}</td>", escape_html(r.limit->how),
                               escape_html(show(r.limit->value, r.unit)))
                 : kNone;
  row += cell(share_of(r));
  const std::string samples =
      r.passes.size() < 2 ? std::to_string(r.samples.size())
                          : fmt::format("{} in {} passes", r.samples.size(), r.passes.size());
  row += cell(r.samples.empty() ? "" : samples + sparkline(r.samples));
  return row + "</tr>";
}

// The part of a name by which results are grouped: after the name of the study itself.
std::string family(const Record& record, const Result& result) {
  std::string_view name = result.name;
  const std::string own = record.name + ".";
  if (record.kind != Kind::survey && name.starts_with(own)) name.remove_prefix(own.size());
  return std::string(name.substr(0, name.find('.')));
}

// "page_fault" gives "Page fault".
std::string group_title(std::string family) {
  if (is_of_tabane(family + "."))
    return family + (family == "comm" ? ": tabane's messages" : ": tabane's vector loops");
  std::ranges::replace(family, '_', ' ');
  if (!family.empty() && family[0] >= 'a' && family[0] <= 'z')
    family[0] = static_cast<char>(family[0] - 'a' + 'A');
  return family;
}

// ---- what surrounds them ----

std::string plain(const Json& value) {
  if (value == "notsupported" || value == "notimplemented")  // as Linux says it of SMT
    return "not " + value.text().substr(3);
  if (value.is_null()) return "<span class=none>not readable</span>";
  if (value.is_string()) return escape_html(value.text());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return escape_html(value.dump(-1, Json::Invalid::replaced));
}

}  // namespace

std::string comparisons_section(const Record& record) {
  if (record.comparisons.empty()) return "";
  std::string out =
      "<thead><tr><th>question</th><th class=n>tabane</th><th>peer, and how it was started</th>"
      "<th class=n>peer</th><th class=n>times as fast</th><th class=n>target</th><th></th></tr>"
      "</thead><tbody>";
  for (const Comparison& c : record.comparisons) {
    out += fmt::format("<tr><th>{}</th>", escape_html(c.question));
    if (!c.skipped.empty())
      out += fmt::format("<td colspan=6>{}: not measured, {}</td></tr>",
                         escape_html(c.figure.empty() ? c.peer_name : c.figure),
                         escape_html(c.skipped));
    else
      out += c.figure.empty() ? peer_row(c) : figure_row(c);
  }
  return section("comparisons", "Comparisons",
                 "tabane and its peer are measured in turn. Ratios are medians of pairs with their "
                 "95 % interval; a figure without a peer is shown with its limit.",
                 out);
}

std::string results_section(const Record& record) {
  if (record.results.empty()) return "";
  std::string out =
      "<thead><tr><th>result</th><th class=n>median</th><th class=n>95 % interval</th>"
      "<th class=n>limit</th><th class=n>share</th><th class=n>samples, in order</th></tr></thead>"
      "<tbody>";
  std::vector<std::string> families;
  for (const Result& result : record.results) {
    const std::string one = family(record, result);
    if (std::ranges::find(families, one) == families.end()) families.push_back(one);
  }
  for (const std::string& one : families) {
    out += fmt::format("<tr class=group><th colspan=6>{}</th></tr>",
                       escape_html(record.kind == Kind::survey ? group_title(one) : one));
    for (const Result& result : record.results)
      if (family(record, result) == one) out += result_row(result);
  }
  return section("results", "All results",
                 "Medians with their 95 % interval from order statistics: over the passes of a "
                 "survey, which are spread over the whole of it, else over samples. Figures of "
                 "different versions (where none is named, it is 1) must not be compared. A share "
                 "is the median divided by the limit; \"in turn\" is the median of the ratios of "
                 "both, which were measured alternately. The lines show the samples in order.",
                 out);
}

std::string skipped_section(const Record& record) {
  if (record.skipped.empty()) return "";
  std::string out = "<tbody>";
  for (const auto& s : record.skipped)
    out +=
        fmt::format("<tr><th>{}</th><td>{}</td></tr>", escape_html(s.name), escape_html(s.reason));
  return section("skipped", "Not measured", "", out);
}

std::string environment_section(const Record& record) {
  if (record.environment.empty()) return "";
  std::string out = "<section id=environment><h2>Environment</h2><div class=groups>";
  for (const auto& [name, group] : record.environment.items()) {
    out += fmt::format("<div class=group><h3>{}</h3><dl>", escape_html(name));
    if (group.is_object()) {
      for (const auto& [key, value] : group.items()) {
        const bool size = key.ends_with(" bytes");
        out += fmt::format(
            "<dt>{}</dt><dd>{}</dd>", escape_html(size ? key.substr(0, key.size() - 6) : key),
            size && value.is_number() ? show(value.get<double>(), "B") : plain(value));
      }
    } else {
      out += fmt::format("<dt></dt><dd>{}</dd>", plain(group));
    }
    out += "</dl></div>";
  }
  return out + "</div></section>\n";
}

std::string checklist_section(const Record& record) {
  if (record.checklist.empty()) return "";
  std::string out =
      "<thead><tr><th></th><th>rule</th><th>status</th><th>evidence</th></tr></thead><tbody>";
  for (const auto& row : record.checklist) {
    const char* kind = row.status == "kept" ? "kept" : row.status == "partly" ? "partly" : "na";
    out += fmt::format(
        "<tr><td class=n>{}</td><td>{}</td><td class=\"status {}\">{}</td><td>{}</td></tr>",
        escape_html(row.rule), escape_html(row.text), kind, escape_html(row.status),
        escape_html(row.evidence));
  }
  return section(
      "checklist", "How far to trust this",
      "Twelve rules for benchmarks, after Hoefler and Belli (SC'15), filled in from this "
      "record.",
      out);
}

std::string reproduce_section(const Record& record, bool has_figures) {
  const std::string command = record.kind == Kind::survey  ? "tabane survey"
                              : record.kind == Kind::study ? "tabane study " + record.name
                              : record.kind == Kind::bench ? "make bench"
                                                           : "tabane compare";
  return fmt::format(
      "<section id=reproduce><h2>Do it again</h2><pre>{}</pre><p>with tabane {}. The record itself "
      "is inside this page, in the element <code>record</code>{}.</p></section>\n",
      escape_html(record.command_line.empty() ? command : record.command_line),
      escape_html(record.tabane_version),
      has_figures ? "; every figure can be drawn again with <code>gnuplot NAME.gp</code> in the "
                    "report's directory"
                  : "");
}

namespace {

constexpr std::size_t kWidest = 32;  // columns
constexpr std::size_t kWord = 30;    // characters of a text that stays on one line

std::string number(const std::optional<double>& value, const Shown& shown) {
  if (!value || !std::isfinite(*value)) return "<td class=none>–</td>";
  return fmt::format("<td class=n>{}</td>", shown.number(*value));
}

std::string head(std::string_view text) { return fmt::format("<th>{}</th>", escape_html(text)); }

// Of a column of numbers.
std::string number_head(std::string_view text, std::string_view unit = "") {
  return fmt::format("<th class=n>{}{}</th>", escape_html(text),
                     unit.empty() ? "" : fmt::format(" <small>{}</small>", escape_html(unit)));
}

std::string open_table(const std::string& heads) {
  return "<table><thead><tr>" + heads + "</tr></thead><tbody>";
}
constexpr const char* kCloseTable = "</tbody></table>";

// A row for each point, where the curves share so few x that most places would stay empty.
std::string listed(const Curves& curves, const Shown& shown) {
  std::string out =
      open_table(head("") + number_head(curves.x.name) + number_head(curves.y.name, shown.unit));
  for (const Curve& curve : curves.series) {
    for (std::size_t i = 0; i < curve.x.size() && curve.role != Role::fitted; ++i)
      out += fmt::format("<tr><th>{}</th><td class=n>{:.4g}</td>{}</tr>", escape_html(curve.name),
                         curve.x[i], number(curve.y[i], shown));
  }
  return out + kCloseTable;
}

std::string html(const Curves& curves) {
  double largest = 0;
  std::size_t points = 0, series = 0;
  std::set<double> all_x;
  for (const Curve& curve : curves.series) {
    if (curve.role == Role::fitted) continue;
    all_x.insert(curve.x.begin(), curve.x.end());
    points += curve.x.size();
    ++series;
    for (const double y : curve.y)
      if (std::isfinite(y)) largest = std::max(largest, y);
  }
  const Shown shown = shown_in(largest, curves.y.unit);
  if (3 * points < all_x.size() * series) return listed(curves, shown);
  std::string heads = head(curves.x.name);
  for (const Curve& curve : curves.series)
    if (curve.role != Role::fitted) heads += number_head(curve.name, shown.unit);
  std::string out = open_table(heads);
  for (const double x : all_x) {
    out += fmt::format("<tr><th>{}</th>",
                       curves.x.unit == "B" ? show(x, "B") : fmt::format("{:.6g}", x));
    for (const Curve& curve : curves.series) {
      if (curve.role == Role::fitted) continue;
      const auto at = std::ranges::find(curve.x, x) - curve.x.begin();
      const auto i = static_cast<std::size_t>(at);
      out += number(i < curve.y.size() ? std::optional(curve.y[i]) : std::nullopt, shown);
    }
    out += "</tr>";
  }
  return out + kCloseTable;
}

std::string summarised(const Matrix& matrix, const Shown& shown) {
  std::string out =
      open_table(head("row") + number_head("lowest", shown.unit) +
                 number_head("median", shown.unit) + number_head("highest", shown.unit));
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    std::vector<double> row;
    for (const auto& x : matrix.values[i])
      if (x) row.push_back(*x);
    out += "<tr>" + head(matrix.rows[i]);
    for (double q : {0.0, 0.5, 1.0})
      out += number(row.empty() ? std::nullopt : std::optional(core::quantile(row, q)), shown);
    out += "</tr>";
  }
  return out + kCloseTable;
}

std::string html(const Matrix& matrix) {
  double largest = 0;
  for (const auto& row : matrix.values)
    for (const auto& x : row) largest = std::max(largest, x.value_or(0));
  const Shown shown = shown_in(largest, matrix.unit);
  if (matrix.columns.size() > kWidest) return summarised(matrix, shown);
  std::string heads = number_head(matrix.row_axis, shown.unit);
  for (const std::string& column : matrix.columns) heads += number_head(column);
  std::string out = open_table(heads);
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    out += "<tr>" + head(matrix.rows[i]);
    for (const auto& x : matrix.values[i]) out += number(x, shown);
    out += "</tr>";
  }
  return out + kCloseTable;
}

std::string html(const Rows& rows) {
  std::string heads;
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    const bool numbers =
        std::ranges::any_of(rows.rows, [&](const auto& row) { return row[i].value.has_value(); });
    heads += numbers ? number_head(rows.columns[i]) : head(rows.columns[i]);
  }
  std::string out = open_table(heads);
  for (const auto& row : rows.rows) {
    out += "<tr>";
    for (const Entry& entry : row) {
      const bool word = text_of(entry).size() <= kWord;
      const char* kind = entry.none()  ? " class=none"
                         : entry.value ? " class=n"
                         : word        ? " class=word"
                                       : "";
      out += fmt::format("<td{}>{}</td>", kind, escape_html(text_of(entry)));
    }
    out += "</tr>";
  }
  return out + kCloseTable;
}

std::string html(const Bars& bars) {
  const bool remarks =
      std::ranges::any_of(bars.bars, [](const Bar& bar) { return !bar.remark.empty(); });
  const bool targets =
      std::ranges::any_of(bars.bars, [](const Bar& bar) { return bar.target.has_value(); });
  std::string out =
      open_table(head("group") + head("bar") + number_head("value") +
                 (targets ? number_head("target") : "") + (remarks ? head("remark") : ""));
  for (const Bar& bar : bars.bars) {
    const auto cell = [](const Entry& entry) {
      return fmt::format("<td class=n>{}</td>", escape_html(text_of(entry)));
    };
    Entry value(bar.value, bars.unit);
    value.interval = bar.interval;
    out += "<tr>" + head(bar.group) + head(bar.label) + cell(value);
    if (targets) out += cell(Entry(bar.target, bars.unit));
    if (remarks) out += fmt::format("<td>{}</td>", escape_html(bar.remark));
    out += "</tr>";
  }
  return out + kCloseTable;
}

std::string html(const Image& image) {
  return fmt::format("<img alt=\"{}\" src=\"data:image/png;base64,{}\">", escape_html(image.what),
                     escape_html(image.png_base64));
}

}  // namespace

std::string table_html(const View& view) {
  return std::visit([](const auto& content) { return html(content); }, view.content);
}

}  // namespace tabane::lab
