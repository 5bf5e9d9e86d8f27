// The command line: verbs and their options as tables. Parsing, --help, the man page, the shells'
// completions and what is said of wrong arguments all come from them.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tabane/core/error.h"

namespace tabane::program {

// What main() returns.
enum ExitCode : int {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kLost = 3,
  kVerification = 4,
  kRunFailed = 125,      // tabane run: tabane itself failed
  kNotExecutable = 126,  // tabane run: found and not executable
  kNotFound = 127,       // tabane run: not found
};

// Legal numbers, both ends among them; as far as their type goes where nothing is given.
struct Bounds {
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
};
inline constexpr Bounds kAboveZero{std::numeric_limits<double>::min()};
inline constexpr Bounds kFromZero{0};

// Where values go. A vector takes all of an option that is repeated; a function gets all words that
// were typed for its option, and throws core::UsageError, without the option's name, if they are
// not legal.
using Words = std::vector<std::string>;
using Target =
    std::variant<bool*, int*, long*, unsigned*, std::uint64_t*, double*, std::string*,
                 std::optional<int>*, std::optional<std::uint64_t>*, std::optional<double>*,
                 std::optional<std::string>*, std::vector<unsigned>*, std::vector<std::uint64_t>*,
                 Words*, std::function<void(const Words&)>>;

struct Rules {
  Bounds range = {};
  Words choices = {};                                    // the only legal values, if there are any
  std::function<bool(const std::string&)> or_also = {};  // legal besides the choices
  Words excludes = {}, needs = {};                       // "--matrix": other options
  bool required = false;
  bool repeatable = false;                   // a vector always is
  bool commas = false;                       // separate values, as repeating the option does
  bool is_command = false;                   // the rest of the line belongs to the user's command
  bool hidden = false;                       // not for people
  std::function<std::string()> answer = {};  // printed instead of anything else, as a version
};

// The words of a text between such characters, without empty ones.
Words split_words(const std::string& text, char at);

// The words joined so that a shell reads them as they are.
std::string shell_line(const std::vector<std::string>& words);
std::string shell_word(std::string_view word);

// A row of a verb's table: an option or a positional argument.
struct Option {
  // typed: "-q,--quiet", "-o,--output DIR", "--json[=FILE]" (bare: "-"), "-L,--list NAME VALUES"
  // (two words), "RECORD" (a positional).
  Option(const std::string& typed, Target to, std::string what, Rules rules = {});

  bool is_positional() const { return names.empty(); }
  bool is_flag() const { return value.empty(); }
  bool is_repeatable() const;
  std::size_t words() const;                 // of one value
  bool excludes(const Option& other) const;  // whichever of them says so
  // The long one, or else the short one; of a positional its placeholder.
  const std::string& name() const { return names.empty() ? value : names.back(); }
  std::string synopsis() const;  // "-t, --threads N"

  Words names;                      // with their dashes, the short one first; none: a positional
  std::string value;                // its placeholder, "FILE"; empty: a flag
  bool value_after_equals = false;  // which may then be left out
  Target to;
  std::string what;
  Rules rules;
};

// The first rows, and then those that verbs share.
template <class... Rows>
std::vector<Option> table(std::vector<Option> rows, const Rows&... more) {
  (rows.insert(rows.end(), more.begin(), more.end()), ...);
  return rows;
}

// What was typed after the name of a verb.
struct Given {
  struct Item {
    const Option* option;
    Words words;
  };
  std::string verb;         // "tabane study ap1000"
  std::vector<Item> items;  // in the order in which each was typed first

  // Null: it was not typed.
  const Words* words(const std::string& name) const;
  // The line that was typed, for the shell: options under their long names in the order of the
  // table, then the rest. without: options that are left out.
  std::string line(std::initializer_list<std::string_view> without = {}) const;
};

struct Definition {
  std::vector<Option> options;
  std::function<int(const Given&)> run;  // returns the exit code; none: a name below must follow
};

// A verb, a name below one, or the program itself. Its table is only made where it is needed.
struct Verb {
  const char* name;
  const char* what;
  const char* group = nullptr;  // under which the program's help shows it
  const char* examples = nullptr;
  Definition (*define)() = nullptr;
  const Verb* const* below = nullptr;  // ends with nullptr
  bool hidden = false;
  // Only of a verb in a module, which has no more than its name, what and group until it is loaded.
  const Verb& (*load)() = nullptr;
};

// Returns the verb with all that it has. throws: core::Error if its module cannot be loaded.
const Verb& whole(const Verb& verb);

std::span<const Verb* const> below(const Verb& verb);

// The table of a verb with --help, which is the last.
Definition definition_of(const Verb& verb);

// Returns how a verb is called: "tabane study [OPTIONS] SUBCOMMAND". name: "tabane study".
std::string usage(const Verb& verb, const std::string& name);

// Returns the help of a verb, as wide as stdout. name: as in usage().
std::string help_text(const Verb& verb, const std::string& name);

// A sentence that names the verb, what is wrong, what is legal, and where that is said.
class WrongArguments : public core::UsageError {
 public:
  using UsageError::UsageError;
};

// A verb with all that was typed for it, ready to run.
struct Call {
  Definition definition;
  Given given;
  std::optional<std::string> answer;  // to print instead, such as help

  int run() const { return definition.run(given); }
};

// Understands a command line. arguments: without the program's name. throws: WrongArguments.
Call understand(const Verb& program, Words arguments);

// Fills what options go to that are no verb's. throws: core::UsageError.
void fill(const std::vector<Option>& options, Words arguments);

}  // namespace tabane::program
