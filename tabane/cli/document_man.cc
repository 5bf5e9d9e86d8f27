#include <fmt/format.h>

#include <set>
#include <sstream>

#include "tabane/cli/documents.h"
#include "tabane/cli/options.h"
#include "tabane/core/error.h"
#include "tabane/lab/version.h"

namespace tabane::cli {
namespace {

// Text that roff shows as it is.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if (c == '\'') {
      escaped += "\\(aq";
    } else {
      escaped += c;
    }
  }
  return escaped.starts_with('.') ? "\\&" + escaped : escaped;
}

std::string head_of(const OptionText& option) {
  std::string head;
  for (const std::string& name : option.names) {
    head += (head.empty() ? "" : ", ") + fmt::format("\\fB{}\\fR", roff(name));
  }
  if (option.value.empty()) return head;
  const std::string value = fmt::format("\\fI{}\\fR", roff(option.value));
  if (option.value_after_equals) return head + "[=" + value + "]";
  return head + (option.value_optional ? " [" + value + "]" : " " + value);
}

// --help is the same for all verbs, so only the program's own table has it.
std::string table_of(const CLI::App& verb) {
  std::string text;
  for (const OptionText& option : options_of(verb)) {
    if (option.names.back() == "--help" && verb.get_parent() != nullptr) continue;
    text += fmt::format(".TP\n{}\n{}.\n", head_of(option), roff(option.what));
  }
  return text;
}

// The names below a verb, each with its own table.
std::string tables_below(const CLI::App& verb) {
  std::string text;
  for (const CLI::App* each : verbs_of(verb)) {
    text += fmt::format(".TP\n\\fB{} {}\\fR\n{}.\n.RS\n{}.RE\n", roff(verb.get_name()),
                        roff(each->get_name()), roff(each->get_description()), table_of(*each));
  }
  return text;
}

std::string options_text(const CLI::App& verb) { return table_of(verb) + tables_below(verb); }

// A line of the template, or what it stands for; notes the verbs whose options it shows.
std::string line_of(const CLI::App& app, const std::string& line, std::set<std::string>& shown) {
  if (line == "@options@") return table_of(app);
  if (!line.starts_with("@options ") || !line.ends_with('@')) return line + "\n";
  const std::string name = line.substr(9, line.size() - 10);
  std::string text;
  for (const CLI::App* verb : verbs_of(app)) {
    if (verb->get_name() == name) {
      shown.insert(name);
      return options_text(*verb);
    }
    if (name != "others" || shown.contains(verb->get_name())) continue;
    text += fmt::format(".SS {}\n{}.\n{}", verb->get_name(), roff(verb->get_description()),
                        options_text(*verb));
  }
  if (name != "others") throw core::UsageError(fmt::format("{}: there is no such verb", line));
  return text;
}

}  // namespace

std::string man_page(const CLI::App& app, const std::string& page_template) {
  std::istringstream lines(page_template);
  std::set<std::string> shown;
  std::string page;
  for (std::string line; std::getline(lines, line);) page += line_of(app, line, shown);
  const std::string mark = "@version@";
  if (const std::size_t at = page.find(mark); at != std::string::npos)
    page.replace(at, mark.size(), lab::version());
  return page;
}

}  // namespace tabane::cli
