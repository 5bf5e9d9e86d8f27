#include <fmt/format.h>

#include <set>
#include <sstream>

#include "tabane/core/error.h"
#include "tabane/lab/record_head.h"
#include "tabane/program/documents.h"

namespace tabane::program {
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

std::string head_of(const Option& option) {
  std::string head;
  for (const std::string& name : option.names) {
    head += (head.empty() ? "" : ", ") + fmt::format("\\fB{}\\fR", roff(name));
  }
  if (option.is_flag()) return head;
  const std::string value = fmt::format("\\fI{}\\fR", roff(option.value));
  return option.value_after_equals ? head + "[=" + value + "]" : head + " " + value;
}

// --help is the same for all verbs, so only the program's own table has it.
std::string table_of(const Documented& verb) {
  std::string text;
  for (const Option& option : verb.options) {
    if (option.name() == "--help" && !verb.path.empty()) continue;
    text += fmt::format(".TP\n{}\n{}.\n", head_of(option), roff(option.what));
  }
  return text;
}

// The verb's own table, and those of the names below it.
std::string options_text(const Verb& verb) {
  const Documented own = documented(verb, verb.name);
  std::string text = table_of(own);
  for (const Verb* each : own.below) {
    text += fmt::format(".TP\n\\fB{} {}\\fR\n{}.\n.RS\n{}.RE\n", roff(verb.name), roff(each->name),
                        roff(each->what), table_of(documented(*each, each->name)));
  }
  return text;
}

// A line of the template, or what it stands for; notes the verbs whose options it shows.
std::string line_of(const Verb& program, const std::string& line, std::set<std::string>& shown) {
  if (line == "@options@") return table_of(documented(program, ""));
  if (!line.starts_with("@options ") || !line.ends_with('@')) return line + "\n";
  const std::string name = line.substr(9, line.size() - 10);
  std::string text;
  for (const Verb* verb : documented(program, "").below) {
    if (verb->name == name) {
      shown.insert(name);
      return options_text(*verb);
    }
    if (name != "others" || shown.contains(verb->name)) continue;
    text += fmt::format(".SS {}\n{}.\n{}", verb->name, roff(verb->what), options_text(*verb));
  }
  if (name != "others") throw core::UsageError(fmt::format("{}: there is no such verb", line));
  return text;
}

}  // namespace

Documented documented(const Verb& head, const std::string& path) {
  const Verb& verb = whole(head);
  Documented shown{&verb, path, {}, {}, {}};
  for (const Verb* each : below(verb)) {
    if (!each->hidden) shown.below.push_back(each);
  }
  for (Option& option : definition_of(verb).options) {
    if (option.rules.hidden) continue;
    (option.is_positional() ? shown.positionals : shown.options).push_back(std::move(option));
  }
  return shown;
}

std::string man_page(const Verb& program, const std::string& page_template) {
  std::istringstream lines(page_template);
  std::set<std::string> shown;
  std::string page;
  for (std::string line; std::getline(lines, line);) page += line_of(program, line, shown);
  const std::string mark = "@version@";
  if (const std::size_t at = page.find(mark); at != std::string::npos)
    page.replace(at, mark.size(), lab::version());
  return page;
}

}  // namespace tabane::program
