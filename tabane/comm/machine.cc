#include "tabane/comm/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <ranges>
#include <sstream>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/units.h"

namespace tabane::comm::sim {
namespace {

constexpr int kMostRanks = 4096;
constexpr double kMostFactor = 1e9;

// Fitted to the costs that were measured at user level on the machine. send.occupancy is that of a
// tree broadcast; a network broadcast was timed over many calls in a row, which is its occupancy,
// and is taken to arrive when a message would. compute: the best rate of the processor; the kinds:
// fitted to published runs, see docs/simulated-machine.md. The cost of a probe was not published.
constexpr std::string_view kAp1000 = R"(name = AP1000
send.latency = 9.84 + 0.05 x + 0.16 hop
send.occupancy = 9 + 0.067 x
recv.copy = 9 + 0.13 x
probe = 1
broadcast.latency = 9.84 + 0.05 x + 0.16 hop
broadcast.occupancy = 3.1 - 0.1 lg + 0.05 x + 0.02 x lg
barrier = 10.6
sum = 7 + 8 lg
max = 8 + 11 lg
gather = 4200 + 0.041 x
gather.cyclic = 3800 + 0.027 x
scatter = 4900 + 0.043 x
compute = 0.18 op
compute.column = 0.21 op
compute.product = 0.21 op
compute.product.ldlt = 0.8 op
compute.stencil = 70 + 0.585 op
compute.text = 36 op
)";

struct Key {
  std::string_view name;
  Law Machine::*law;
};
constexpr std::array<Key, 14> kKeys{{{"send.latency", &Machine::send_latency},
                                     {"send.occupancy", &Machine::send_occupancy},
                                     {"recv.copy", &Machine::receive_copy},
                                     {"recv.pointer", &Machine::receive_pointer},
                                     {"probe", &Machine::probe},
                                     {"clock", &Machine::clock},
                                     {"broadcast.latency", &Machine::broadcast_latency},
                                     {"broadcast.occupancy", &Machine::broadcast_occupancy},
                                     {"barrier", &Machine::barrier},
                                     {"sum", &Machine::sum},
                                     {"max", &Machine::max},
                                     {"gather", &Machine::gather},
                                     {"gather.cyclic", &Machine::gather_cyclic},
                                     {"scatter", &Machine::scatter}}};
constexpr std::string_view kCompute = "compute";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

void parse_shape(std::string_view text, Machine& machine) {
  const std::size_t x = text.find('x');
  const auto side = [](std::string_view word) {
    const int value = core::number_in<int>(trimmed(word)).value_or(0);
    return value >= 1 && value <= kMostRanks ? value : 0;
  };
  const int rows = x == text.npos ? 0 : side(text.substr(0, x));
  const int columns = x == text.npos ? 0 : side(text.substr(x + 1));
  if (rows == 0 || columns == 0 || rows > kMostRanks / columns) {
    throw core::UsageError("'{}' is no shape: give ROWSxCOLUMNS, as in 16x16, for at most {} ranks",
                           text, kMostRanks);
  }
  machine.rows = rows;
  machine.columns = columns;
}

// Returns the law of that name, or null.
Law* find_law(Machine& machine, std::string_view name) {
  const auto found = std::ranges::find(kKeys, name, &Key::name);
  if (found != kKeys.end()) return &(machine.*found->law);
  if (name == kCompute) return &machine.compute[""];
  if (name.starts_with("compute.") && name.size() > 8) {
    return &machine.compute[std::string(name.substr(8))];
  }
  return nullptr;
}

void parse_line(std::string_view line, Machine& machine) {
  const std::size_t equals = line.find('=');
  const std::string_view key = trimmed(line.substr(0, equals));
  if (equals == line.npos) throw core::UsageError("'{}': give KEY = LAW", key);
  const std::string_view value = trimmed(line.substr(equals + 1));
  if (key == "name") {
    machine.name = value;
  } else if (key == "shape") {
    parse_shape(value, machine);
  } else if (Law* const law = find_law(machine, key)) {
    if (law->is_given()) throw core::UsageError("{} is given twice", key);
    *law = Law::parse(value);
  } else {
    throw core::UsageError("no key '{}': give one of name, shape, {}, compute, compute.KIND", key,
                           fmt::join(kKeys | std::views::transform(&Key::name), ", "));
  }
}

void require_laws(const Machine& machine) {
  if (!machine.send_latency.is_given() || !machine.send_occupancy.is_given()) {
    throw core::UsageError("send.latency and send.occupancy must be given");
  }
  if (machine.broadcast_latency.is_given() != machine.broadcast_occupancy.is_given()) {
    throw core::UsageError("give broadcast.latency and broadcast.occupancy, or neither");
  }
}

// Variables of the term, apart from each other by blanks.
std::uint8_t variables_of(std::string_view text) {
  std::uint8_t variables = 0;
  while (!(text = trimmed(text)).empty()) {
    const std::string_view word = text.substr(0, std::min(text.find(' '), text.size()));
    const auto found = std::ranges::find(kVariableNames, word);
    if (found == kVariableNames.end()) {
      throw core::UsageError("'{}' is no variable: give a number, then any of {}", word,
                             fmt::join(kVariableNames, ", "));
    }
    variables |= static_cast<std::uint8_t>(1U << (found - kVariableNames.begin()));
    text.remove_prefix(word.size());
  }
  return variables;
}

Law::Term term_of(std::string_view text, bool is_negative) {
  text = trimmed(text);
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::optional<double> factor = core::number_in<double>(text.substr(0, end));
  if (!factor || !(*factor >= 0 && *factor <= kMostFactor)) {
    throw core::UsageError(
        "'{}' does not begin with a number from 0 to {:g}: give a "
        "law as in 9.84 + 0.05 x + 0.16 hop, in microseconds",
        text, kMostFactor);
  }
  return {is_negative ? -*factor : *factor, variables_of(text.substr(end))};
}

// A sum is linear in each variable, so the corners are where it is least; but lg and p are one: if
// it has both, that may be between them. Of several sums the first has to be positive.
void require_positive(Law law, std::string_view text) {
  law.terms.erase(std::ranges::find_if(law.terms, &Law::Term::begins), law.terms.end());
  const auto has = [&](Variable one) {
    return std::ranges::any_of(law.terms, [&](const Law::Term& term) { return term.has(one); });
  };
  const int step = has(kLog) && has(kRanks) ? 1 : kMostRanks - 2;
  for (const double bytes : {0.0, 1e9}) {
    for (int ranks = 2; ranks <= kMostRanks; ranks += step) {
      for (const int hops : {0, kMostRanks}) {
        for (const double operations : {0.0, 1e12}) {
          if (law.at({bytes, ranks, hops, operations}) >= 0) continue;
          throw core::UsageError(
              "'{}' is below 0 for {:g} bytes, {} ranks and {} hops: a cost cannot be", text, bytes,
              ranks, hops);
        }
      }
    }
  }
}

// name: of a preset or a file.
Machine parse_named(const std::string& name) {
  const std::vector<Preset> all = presets();
  const auto found = std::ranges::find(all, name, &Preset::name);
  if (found != all.end()) return Machine::parse(found->text, name);
  std::error_code ignored;
  if (std::filesystem::exists(name, ignored)) return Machine::parse(core::read_file(name), name);
  throw core::UsageError(
      "there is no machine '{}': give {}, perhaps with a shape as in {}:16x16, or a file (see "
      "'tabane simulate')",
      name, fmt::join(all | std::views::transform(&Preset::name), ", "), all.front().name);
}

int distance(int from, int to, int around) {
  const int way = std::abs(from - to);
  return std::min(way, around - way);
}

}  // namespace

Law Law::parse(std::string_view text) {
  Law law;
  char before = '+';
  for (std::string_view rest = text;;) {
    // A sign within a number, as in 1e-3, follows its e.
    std::size_t sign = 0;
    do {
      sign = rest.find_first_of("+-|", sign + 1);
    } while (sign != rest.npos && rest[sign - 1] == 'e');
    law.terms.push_back(term_of(rest.substr(0, sign), before == '-'));
    law.terms.back().begins = before == '|';
    if (sign == rest.npos) break;
    before = rest[sign];
    rest.remove_prefix(sign + 1);
  }
  require_positive(law, text);
  return law;
}

std::string Law::format() const {
  std::string text;
  for (const Term& term : terms) {
    if (!text.empty()) text += term.begins ? " | " : term.factor < 0 ? " - " : " + ";
    text += fmt::format("{:.6g}", std::fabs(term.factor));
    for (std::size_t i = 0; i < kVariableNames.size(); ++i) {
      if (term.has(static_cast<Variable>(i))) text += fmt::format(" {}", kVariableNames[i]);
    }
  }
  return text;
}

double Law::at(const At& call) const {
  const std::array<double, kVariableNames.size()> values{
      call.bytes, std::log2(call.ranks), static_cast<double>(call.ranks),
      static_cast<double>(call.hops), call.operations};
  double sum = 0, largest = -HUGE_VAL;
  for (const Term& term : terms) {
    if (term.begins) largest = std::max(largest, std::exchange(sum, 0));
    double product = term.factor;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (term.has(static_cast<Variable>(i))) product *= values[i];
    }
    sum += product;
  }
  return std::max(largest, sum);
}

int Machine::hops(int from, int to) const {
  return distance(from / columns, to / columns, rows) +
         distance(from % columns, to % columns, columns);
}

Machine Machine::parse(std::string_view text, std::string_view source) {
  Machine machine;
  std::string where;
  try {
    std::istringstream in{std::string(text)};
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      where = fmt::format("{}, line {}", source, ++number);
      const std::string_view content = trimmed(std::string_view(line).substr(0, line.find('#')));
      if (!content.empty()) parse_line(content, machine);
    }
    where = source;
    require_laws(machine);
  } catch (const core::UsageError& error) {
    throw core::UsageError("{}: {}", where, error.what());
  }
  if (machine.name.empty()) machine.name = source;
  return machine;
}

std::string Machine::format() const {
  std::string text = fmt::format("name = {}\n", name);
  if (rows > 0) text += fmt::format("shape = {}x{}\n", rows, columns);
  for (const Key& key : kKeys) {
    const Law& law = this->*key.law;
    if (law.is_given()) text += fmt::format("{} = {}\n", key.name, law.format());
  }
  for (const auto& [kind, law] : compute) {
    if (law.is_given()) {
      text += fmt::format("{}{}{} = {}\n", kCompute, kind.empty() ? "" : ".", kind, law.format());
    }
  }
  return text;
}

std::vector<Preset> presets() {
  return {
      {"ap1000", "the AP1000 of 1992: a torus with networks for broadcasts and barriers", kAp1000}};
}

Machine machine_named(const std::string& name, int ranks) {
  const std::size_t colon = name.rfind(':');
  Machine machine = parse_named(name.substr(0, colon));
  if (colon != name.npos) parse_shape(std::string_view(name).substr(colon + 1), machine);
  if (machine.rows == 0) {
    if (ranks == 0) {
      throw core::UsageError("{} has no shape: give one, as in {}:16x16", name, name);
    }
    machine.rows = static_cast<int>(std::sqrt(ranks));
    while (ranks % machine.rows != 0) --machine.rows;
    machine.columns = ranks / machine.rows;
  }
  if (ranks != 0 && ranks != machine.ranks()) {
    throw core::UsageError("{} ranks do not fit {}, whose shape is {}x{}: give {}", ranks, name,
                           machine.rows, machine.columns, machine.ranks());
  }
  return machine;
}

std::string name_in_shape(const std::string& name, int rows, int columns) {
  return fmt::format("{}:{}x{}", name.substr(0, name.rfind(':')), rows, columns);
}

void scale(Machine& machine, std::string_view changes) {
  for (std::string_view rest = changes; !rest.empty();) {
    const std::string_view change = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(change.size() + 1, rest.size()));
    const std::size_t equals = change.find('=');
    const std::string_view what = trimmed(change.substr(0, equals));
    const std::optional<double> factor =
        equals == change.npos ? std::nullopt
                              : core::number_in<double>(trimmed(change.substr(equals + 1)));
    if (!factor || !(*factor >= 0 && *factor <= kMostFactor)) {
      throw core::UsageError(
          "'{}' is no change: give WHAT=FACTOR with a factor from 0 to {:g}, as in setup=0.5",
          change, kMostFactor);
    }
    bool is_known = false;
    for (const Key& key : kKeys) {
      const bool is_of_messages = key.name.starts_with("send.") || key.name.starts_with("recv.");
      for (Law::Term& term : (machine.*key.law).terms) {
        const bool is_meant =
            what == key.name || (what == "hop" && term.has(kHops)) ||
            (what == "byte" && term.has(kBytes)) ||
            (what == "setup" && is_of_messages && !term.has(kBytes) && !term.has(kHops));
        if (is_meant) term.factor *= *factor;
        is_known = is_known || is_meant;
      }
    }
    for (auto& [kind, law] : machine.compute) {
      if (what != kCompute && what != fmt::format("compute.{}", kind)) continue;
      for (Law::Term& term : law.terms) term.factor *= *factor;
      is_known = true;
    }
    if (is_known) continue;
    std::string legal = "setup, byte, hop";
    for (const Key& key : kKeys) {
      if ((machine.*key.law).is_given()) legal += fmt::format(", {}", key.name);
    }
    throw core::UsageError("{} has nothing called '{}' to change: give one of {}{}", machine.name,
                           what, legal, machine.compute.empty() ? "" : ", compute");
  }
  // Some terms alone may have changed, so that those below 0 outweigh the others.
  for (const Key& key : kKeys) {
    const Law& law = machine.*key.law;
    require_positive(law, fmt::format("{} = {}", key.name, law.format()));
  }
}

}  // namespace tabane::comm::sim
