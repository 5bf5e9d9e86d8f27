// tabane generate-docs: the man page and the shells' completions, from the tables of the verbs. The
// build installs them beside the program; the verb is not for people.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/lab/record_head.h"
#include "tabane/program/command.h"

namespace tabane::program {
namespace {

// What --help shows of the program, a verb, or a name below one.
struct Documented {
  const Verb* verb;
  std::string path;  // "study ap1000"; empty: the program
  std::vector<const Verb*> below;
  std::vector<Option> options;  // --help is the last
  std::vector<Option> positionals;
};

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

// ---- man page ----

// The text with other words in place of some characters.
std::string substituted(const std::string& text,
                        std::initializer_list<std::pair<char, std::string_view>> words) {
  std::string all;
  for (const char c : text) {
    const auto word = std::ranges::find(words, c, &std::pair<char, std::string_view>::first);
    all += word == words.end() ? std::string_view(&c, 1) : word->second;
  }
  return all;
}

// Text that roff shows as it is.
std::string roff(const std::string& text) {
  const std::string shown = substituted(text, {{'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}});
  return shown.starts_with('.') ? "\\&" + shown : shown;
}

std::string in_capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
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

// As a shell takes them, in the columns that they have.
std::string examples_of(const Verb& verb) {
  if (verb.examples == nullptr) return "";
  return fmt::format(".PP\nExamples:\n.PP\n.EX\n{}\n.EE\n", roff(verb.examples));
}

// For each verb: "tabane run [OPTIONS] COMMAND".
std::string synopsis(const Verb& program) {
  std::string text;
  for (const Verb* verb : documented(program, "").below) {
    const std::string name = fmt::format("{} {}", program.name, verb->name);
    text += fmt::format("{}\\fB{}\\fR{}\n", text.empty() ? "" : ".br\n", roff(name),
                        roff(usage(whole(*verb), name).substr(name.size())));
  }
  return text;
}

// What a template says of verbs, by their names.
using About = std::map<std::string, std::string, std::less<>>;

// A section for each group, in it one for each verb: what is said of it, or else one sentence, its
// options and examples. throws: core::UsageError if something is said of a verb that there is not.
std::string verbs_text(const Verb& program, About about) {
  std::string text, group;
  for (const Verb* verb : documented(program, "").below) {
    if (group != verb->group) text += fmt::format(".SH {}\n", in_capitals(group = verb->group));
    const auto said = about.extract(verb->name);
    text += fmt::format(".SS {}\n{}", verb->name, said ? said.mapped() : roff(verb->what) + ".\n");
    text += options_text(*verb) + examples_of(whole(*verb));
  }
  if (about.empty()) return text;
  throw core::UsageError("@about {}@: there is no such verb", about.begin()->first);
}

// A template in which "@version@" stands for the program's version, "@synopsis@" for a line for
// each verb, "@options@" for the program's own options, and "@verbs@" for the sections of the
// verbs, of which the lines before it that follow "@about VERB@" tell.
struct Template {
  std::vector<std::string> lines;  // without what is about verbs
  About about;
};

Template template_of(const std::string& text) {
  std::istringstream lines(text);
  Template read;
  std::string* about = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("@about ") && line.ends_with('@')) {
      about = &read.about[line.substr(7, line.size() - 8)];
      continue;
    }
    if (line == "@verbs@") about = nullptr;
    if (about != nullptr)
      *about += line + "\n";
    else
      read.lines.push_back(line);
  }
  return read;
}

// throws: as verbs_text().
std::string man_page(const Verb& program, const Template& from) {
  std::string page;
  for (const std::string& line : from.lines) {
    page += line == "@verbs@"      ? verbs_text(program, from.about)
            : line == "@synopsis@" ? synopsis(program)
            : line == "@options@"  ? table_of(documented(program, ""))
                                   : line + "\n";
  }
  return std::regex_replace(page, std::regex("@version@"), lab::version());
}

// The page of one verb: tabane-time(1).
std::string man_page_of(const Verb& program, const Verb& verb, const About& about) {
  const std::string name = fmt::format("{} {}", program.name, verb.name);
  const auto said = about.find(verb.name);
  std::string page = fmt::format(
      ".TH {}\\-{} 1 \"\" \"tabane {}\" \"User Commands\"\n.SH NAME\n{}\\-{} \\- {}\n"
      ".SH SYNOPSIS\n\\fB{}\\fR{}\n.SH DESCRIPTION\n{}.SH OPTIONS\n{}",
      in_capitals(program.name), in_capitals(verb.name), lab::version(), program.name,
      roff(verb.name), roff(verb.what), roff(name),
      roff(usage(whole(verb), name).substr(name.size())),
      said != about.end() ? said->second : roff(verb.what) + ".\n", options_text(verb));
  if (const char* examples = whole(verb).examples; examples != nullptr)
    page += fmt::format(".SH EXAMPLES\n.EX\n{}\n.EE\n", roff(examples));
  return page + fmt::format(".SH SEE ALSO\n.BR {} (1)\n", program.name);
}

// The program, its verbs and what is below them.
std::vector<Documented> all_verbs(const Verb& program) {
  std::vector<Documented> all = {documented(program, "")};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string above = all[i].path.empty() ? "" : all[i].path + " ";
    for (const Verb* each : std::vector(all[i].below))
      all.push_back(documented(*each, above + each->name));
  }
  return all;
}

std::vector<std::string> names_below(const Documented& verb) {
  std::vector<std::string> names;
  for (const Verb* each : verb.below) names.emplace_back(each->name);
  return names;
}

std::vector<std::string> flags_of(const Documented& verb) {
  std::vector<std::string> flags;
  for (const Option& option : verb.options)
    flags.insert(flags.end(), option.names.begin(), option.names.end());
  return flags;
}

// What a shell can offer as a value.
enum class Offer { none, names, files, directories, commands, other };

Offer offer_for(const Option& option) {
  const std::string& value = option.value;
  if (option.is_flag()) return Offer::none;
  if (!option.rules.choices.empty()) return Offer::names;
  if (value == "DIR") return Offer::directories;
  if (value.starts_with("FILE") || value.starts_with("RECORD") || value == "IN" || value == "OUT")
    return Offer::files;
  return value == "COMMAND" ? Offer::commands : Offer::other;
}

// Whether a positional argument of the verb takes such values.
bool takes(const Documented& verb, Offer offer) {
  return std::ranges::any_of(verb.positionals,
                             [&](const Option& each) { return offer_for(each) == offer; });
}

// ---- bash ----

std::string bash_words(const std::string& words) {
  return fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$current\"))", words);
}

// What may follow an option: lines of `case "$path:$previous" in`.
std::string bash_values(const Documented& verb) {
  std::string text;
  for (const Option& option : verb.options) {
    const Offer offer = offer_for(option);
    if (offer == Offer::none) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) {
      if (!option.value_after_equals) patterns.push_back(fmt::format("'{}:{}'", verb.path, name));
      if (name.starts_with("--")) patterns.push_back(fmt::format("'{}:{}='", verb.path, name));
    }
    const std::string action =
        offer == Offer::names ? bash_words(fmt::format("{}", fmt::join(option.rules.choices, " ")))
        : offer == Offer::directories ? "COMPREPLY=($(compgen -d -- \"$current\"))"
        : offer == Offer::files       ? "COMPREPLY=($(compgen -f -- \"$current\"))"
                                      : ":";
    text += fmt::format("    {})\n      {}\n      return ;;\n", fmt::join(patterns, " | "), action);
  }
  return text;
}

std::string bash_case_of_verb(const Documented& verb) {
  const std::string positional = takes(verb, Offer::commands) ? "command"
                                 : takes(verb, Offer::files)  ? "file"
                                                              : "";
  return fmt::format("    '{}') names=\"{}\" flags=\"{}\" positional=\"{}\" ;;\n", verb.path,
                     fmt::join(names_below(verb), " "), fmt::join(flags_of(verb), " "), positional);
}

constexpr const char* kBashBegin = R"(# bash completion for tabane, made from its command line
# shellcheck disable=SC2207  # names without blanks, and files as bash itself splits them
_tabane() {
  local IFS=$' \t\n' current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local path="" names="" flags="" positional="" i
  COMPREPLY=()
  # bash takes --option=value for three words.
  if [[ $current == = ]]; then
    current=""
    previous+="="
  elif [[ $previous == = ]]; then
    previous="${COMP_WORDS[COMP_CWORD - 2]}="
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path:${COMP_WORDS[i]}" in
)";

constexpr const char* kBashMiddle = R"(      'run:--')
        positional=$([[ $i -eq $((COMP_CWORD - 1)) ]] && echo -c || echo -f)
        COMPREPLY=($(compgen "$positional" -- "$current"))
        return ;;
    esac
  done
  case "$path:$previous" in
)";

constexpr const char* kBashEnd = R"(  esac
  if [[ $current == -* || ( -z $path && -z $current ) ]]; then
    COMPREPLY=($(compgen -W "$names $flags" -- "$current"))
  elif [[ -n $names && $positional == file ]]; then
    COMPREPLY=($(compgen -W "$names" -f -- "$current"))
  elif [[ -n $names ]]; then
    COMPREPLY=($(compgen -W "$names" -- "$current"))
  elif [[ $positional == file ]]; then
    COMPREPLY=($(compgen -f -- "$current"))
  elif [[ $positional == command ]]; then
    COMPREPLY=($(compgen -c -- "$current"))
  fi
}
complete -o filenames -F _tabane tabane
)";

// ---- fish ----

std::string fish_quoted(const std::string& text) {
  return substituted(text, {{'\'', "\\'"}, {'\\', "\\\\"}});
}

// True where the words typed so far end at this verb.
std::string fish_condition(const Documented& verb) {
  if (verb.path.empty()) return "__fish_use_subcommand";
  std::string condition = "__fish_seen_subcommand_from " +
                          substituted(verb.path, {{' ', "; and __fish_seen_subcommand_from "}});
  const std::vector<std::string> below = names_below(verb);
  if (!below.empty())
    condition += fmt::format("; and not __fish_seen_subcommand_from {}", fmt::join(below, " "));
  return condition;
}

std::string fish_values(const Option& option) {
  const Offer offer = offer_for(option);
  if (offer == Offer::none || option.value_after_equals) return "";
  if (offer == Offer::names)
    return fmt::format(" -x -a '{}'", fmt::join(option.rules.choices, " "));
  if (offer == Offer::directories) return " -x -a '(__fish_complete_directories)'";
  return offer == Offer::files ? " -r -F" : " -x";
}

std::string fish_option(const std::string& begin, const Option& option) {
  std::string text = begin;
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return text + fmt::format("{} -d '{}'\n", fish_values(option), fish_quoted(option.what));
}

// ---- zsh ----

std::string zsh_quoted(const std::string& text) {
  return substituted(text,
                     {{'\'', "'\\''"}, {'[', "\\["}, {']', "\\]"}, {'\\', "\\\\"}, {':', "\\:"}});
}

std::string zsh_values(const Option& option) {
  const Offer offer = offer_for(option);
  if (offer == Offer::none) return "";
  const std::string action = offer == Offer::names
                                 ? fmt::format("({})", fmt::join(option.rules.choices, " "))
                             : offer == Offer::directories ? "_files -/"
                             : offer == Offer::files       ? "_files"
                                                           : "";
  return fmt::format("{}{}:{}", option.value_after_equals ? "::" : ":", zsh_quoted(option.value),
                     action);
}

std::string zsh_option(const Documented& verb, const Option& option) {
  std::vector<std::string> apart = option.names;
  for (const Option& other : verb.options) {
    if (option.excludes(other)) apart.insert(apart.end(), other.names.begin(), other.names.end());
  }
  const std::string before =
      option.is_repeatable() ? "*" : fmt::format("({})", fmt::join(apart, " "));
  const std::string equals = option.value_after_equals ? "=-" : "";
  const std::string rest =
      fmt::format("{}[{}]{}", equals, zsh_quoted(option.what), zsh_values(option));
  std::string text;
  for (const std::string& name : option.names) {
    text += fmt::format("    '{}{}{}' \\\n", before, name, rest);
  }
  return text;
}

std::string zsh_names(const Documented& verb) {
  std::string text;
  for (const Verb* each : verb.below) {
    std::string what = zsh_quoted(each->what);
    text += fmt::format("{}{}\\:\"{}\"", text.empty() ? "" : " ", each->name, what);
  }
  return text;
}

std::string zsh_function(const std::string& path) {
  return path.empty() ? "_tabane" : "_tabane_" + substituted(path, {{' ', "_"}});
}

std::string zsh_positionals(const Documented& verb) {
  if (takes(verb, Offer::commands)) return "    '*::command:_normal'\n";
  std::string text;
  int place = 0;
  for (const Option& each : verb.positionals) {
    text += fmt::format("    '{}:{}:_files' \\\n", ++place, zsh_quoted(each.value));
  }
  return text + "    && return\n";
}

std::string zsh_verb(const Documented& verb) {
  const std::string function = zsh_function(verb.path);
  std::string text = fmt::format("{}() {{\n", function);
  const bool above = !names_below(verb).empty();
  if (above) text += "  local line state\n";
  text += fmt::format("  _arguments{} \\\n", above                          ? " -C"
                                             : takes(verb, Offer::commands) ? " -S"
                                                                            : "");
  for (const Option& option : verb.options) text += zsh_option(verb, option);
  if (!above) return text + zsh_positionals(verb) + "}\n\n";
  text += fmt::format("    '1:name:(({}))' \\\n    '*::argument:->arguments'\n", zsh_names(verb));
  return text + fmt::format(
                    "  [[ $state == arguments ]] || return\n  case $line[1] in\n"
                    "    {}) {}_$line[1] ;;\n  esac\n}}\n\n",
                    fmt::join(names_below(verb), " | "), function);
}

std::string bash_completion(const Verb& program) {
  const std::vector<Documented> verbs = all_verbs(program);
  std::string text = kBashBegin;
  for (const Documented& verb : verbs) {
    for (const std::string& name : names_below(verb)) {
      text += fmt::format("      '{}:{}') path='{}{}{}' ;;\n", verb.path, name, verb.path,
                          verb.path.empty() ? "" : " ", name);
    }
  }
  text += kBashMiddle;
  for (const Documented& verb : verbs) text += bash_values(verb);
  text += "  esac\n  case \"$path\" in\n";
  for (const Documented& verb : verbs) text += bash_case_of_verb(verb);
  return text + kBashEnd;
}

std::string fish_completion(const Verb& program) {
  std::string text =
      "# fish completion for tabane, made from its command line\ncomplete -c tabane -f\n";
  for (const Documented& verb : all_verbs(program)) {
    const std::string begin = fmt::format("complete -c tabane -n '{}'", fish_condition(verb));
    text += "\n";
    for (const Verb* each : verb.below) {
      text += fmt::format("{} -a {} -d '{}'\n", begin, each->name, fish_quoted(each->what));
    }
    for (const Option& option : verb.options) text += fish_option(begin, option);
    if (takes(verb, Offer::files)) text += begin + " -F\n";
    if (takes(verb, Offer::commands))
      text += begin + " -a '(__fish_complete_subcommand --fcs-skip=2)'\n";
  }
  return text;
}

std::string zsh_completion(const Verb& program) {
  std::string text = "#compdef tabane\n# zsh completion for tabane, made from its command line\n\n";
  for (const Documented& verb : all_verbs(program)) text += zsh_verb(verb);
  return text + "_tabane \"$@\"\n";
}

struct DocumentOptions {
  std::string page_template, folder;
};

int run(const DocumentOptions& options) {
  const Template from = template_of(core::read_file(options.page_template));
  const std::filesystem::path folder = options.folder;
  std::filesystem::create_directories(folder / "man1");
  for (const Verb* verb : documented(tabane_program, "").below)
    core::write_output(folder / "man1" / fmt::format("tabane-{}.1", verb->name),
                       man_page_of(tabane_program, *verb, from.about));
  core::write_output(folder / "tabane.1", man_page(tabane_program, from));
  core::write_output(folder / "tabane", bash_completion(tabane_program));
  core::write_output(folder / "_tabane", zsh_completion(tabane_program));
  core::write_output(folder / "tabane.fish", fish_completion(tabane_program));
  return kOk;
}

Definition define() {
  const auto options = std::make_shared<DocumentOptions>();
  return {{{"TEMPLATE", &options->page_template, "The man page's source", {.required = true}},
           {"DIR", &options->folder, "Write all documents into this folder", {.required = true}}},
          [options](const Given&) { return run(*options); }};
}

}  // namespace

extern constinit const Verb generate_docs_verb{
    .name = "generate-docs",
    .what = "Write the man pages and completions from the command line's definitions",
    .group = "Build",
    .define = define,
    .hidden = true};

}  // namespace tabane::program
