#include "tabane/lab/study/captions.h"

#include <fmt/format.h>

#include <algorithm>

#include "tabane/core/error.h"
#include "tabane/lab/record/text.h"

namespace tabane::lab {
namespace {

using ValueOf = std::function<std::optional<std::string>(std::string_view)>;

// The lines below the name, up to an empty one.
std::string_view paragraph(std::string_view captions, std::string_view name) {
  const std::string head = fmt::format("[{}]\n", name);
  std::size_t at = captions.starts_with(head) ? 0 : captions.find("\n" + head);
  if (at == captions.npos) throw core::Error("there is no caption {}", name);
  at = captions.find(']', at) + 2;
  return captions.substr(at, captions.find("\n\n", at) - at);
}

// Replaces {name} by its value. Sets `complete` to false if one is empty or missing.
std::string filled(std::string_view text, const ValueOf& value, bool* complete) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = std::min(text.find('{', at), text.size());
    out += text.substr(at, open - at);
    if (open == text.size()) break;
    at = text.find('}', open) + 1;
    const std::string_view name = text.substr(open + 1, at - open - 2);
    const std::optional<std::string> found = value(name);
    if (complete != nullptr) *complete = *complete && !found.value_or("").empty();
    if (complete == nullptr && !found) throw core::Error("a caption has no value {{{}}}", name);
    out += found.value_or("");
  }
  return out;
}

// The same, without what stands in brackets and is not complete.
std::string read(std::string_view text, const ValueOf& value) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = std::min(text.find('[', at), text.size());
    out += filled(text.substr(at, open - at), value, nullptr);
    if (open == text.size()) break;
    const std::size_t close = text.find(']', open);
    bool complete = true;
    const std::string inside = filled(text.substr(open + 1, close - open - 1), value, &complete);
    if (complete) out += inside;
    at = close + 1;
  }
  return out;
}

std::string_view captions_of(const std::string& study) {
  const auto files = caption_files();
  const auto found = std::ranges::find(files, std::string_view(study), &CaptionFile::study);
  if (found == files.end()) throw core::Error("there are no captions of " + study);
  return found->text;
}

}  // namespace

Caption caption_of(std::string_view captions, std::string_view name, const ValueOf& value) {
  const std::string_view all = paragraph(captions, name);
  const std::size_t end = std::min(all.find('\n'), all.size());
  std::string note(all.substr(std::min(end + 1, all.size())));
  if (note.ends_with('\n')) note.pop_back();
  std::ranges::replace(note, '\n', ' ');
  return {read(all.substr(0, end), value), read(note, value)};
}

Entry StudyViews::published(const std::string& name) const {
  return published_entry(report, family(report) + "." + name);
}

std::string StudyViews::reported(const std::string& name) const { return text_of(published(name)); }

Caption StudyViews::caption(std::string_view name, const CaptionValues& more) const {
  constexpr std::string_view kReport = "report.";
  const auto value = [&](std::string_view wanted) -> std::optional<std::string> {
    if (wanted.starts_with(kReport)) return reported(std::string(wanted.substr(kReport.size())));
    for (const CaptionValues* all : {&more, &values})
      if (const auto found = all->find(wanted); found != all->end()) return found->second;
    return std::nullopt;
  };
  return caption_of(captions_of(record.name), name, value);
}

void StudyViews::table(std::string_view name, Rows rows, const CaptionValues& more) const {
  if (rows.rows.empty()) return;
  Caption text = caption(name, more);
  const std::string wanted = family(record) + "." + std::string(name);
  std::string free = wanted;
  for (int number = 2; record.find_view(free) != nullptr; ++number)
    free = fmt::format("{}.{}", wanted, number);
  add_table(record, std::move(text.title), std::move(rows), std::move(text.note));
  record.views.back().name = std::move(free);
}

void StudyViews::table(std::string_view name, const std::vector<Column>& columns,
                       const std::vector<Factors>& rows, const CaptionValues& more) const {
  table(name, rows_of(columns, points, rows), more);
}

void StudyViews::chart(const std::string& name, Content content, const CaptionValues& more,
                       std::string_view caption_name) const {
  const auto* curves = std::get_if<Curves>(&content);
  if (curves != nullptr && curves->series.empty()) return;
  Caption text = caption(caption_name.empty() ? name : caption_name, more);
  add_chart(record, name, std::move(text.title), std::move(text.note), std::move(content));
}

void StudyViews::order_chart(const std::string& name, Axis y, std::vector<Curve> curves,
                             const CaptionValues& more) const {
  Curves all{{"run", "", false}, std::move(y), {}};
  for (Curve& curve : curves) {
    curve.joined = false;
    for (double& run : curve.x) ++run;  // they count from 1
    add_curve(all, std::move(curve));
  }
  if (all.series.empty()) return;
  chart(name, std::move(all), more);
  record.views.back().details[detail::kHeldFixed] = record.started;
}

}  // namespace tabane::lab
