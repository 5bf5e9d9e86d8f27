// The answer of `tabane explain` in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "tabane/core/units.h"
#include "tabane/lab/commands/child.h"
#include "tabane/lab/record/text.h"
#include "tabane/program/layout.h"
#include "tabane/tools/explain/conclude.h"

namespace tabane::lab::explain {
namespace {

constexpr std::size_t kMostLines = 12;
constexpr double kRestless = 0.2;  // half an interval of one run, from which on it is said

struct KindWords {
  const char* name;
  const char *what = "", *without = "without these waits";  // "For 9 % of its time it sleeps; …"
};
constexpr std::array<KindWords, kKinds> kKindWords = {
    {{"memory bandwidth"},
     {"memory latency"},
     {"shared cache"},
     {"computing"},
     {"locks", "its threads wait for each other, each in its turn (locks, barriers)"},
     {"unequal threads", "some of its threads have more work than others",
      "with the same work evenly spread"},
     {"one thread", "one thread works and the others have nothing to do",
      "with this part spread over all threads"},
     {"page faults", "the system gives it memory, page by page (page faults)", "without faults"},
     {"disks", "it waits for disks", "with files in memory"},
     {"a pipe", "it waits for the other end of a pipe", "with another end that is always ready"},
     {"network", "it waits for the network or another program's answer"},
     {"sleep", "it sleeps"},
     {"waiting for a PU",
      "its threads could run and wait for a PU, because others run or it has more threads than PUs",
      "with a PU for each thread"}}};

struct ResourceWords {
  const char* name;
  const char* with = nullptr;   // "With … it takes 1.25 times as long."
  const char* given = nullptr;  // "… makes it 1.25 times as fast."
};
constexpr ResourceWords kResourceWords[] = {{"memory bandwidth"},
                                            {"shared cache"},
                                            {"units of the cores", "neighbours that compute"},
                                            {"processor time"},
                                            {"disk", "a neighbour that writes to its disk"},
                                            {"files not in memory", "files that are not in memory"},
                                            {"remote memory", "memory on another NUMA node"},
                                            {"threads"},
                                            {"huge pages", nullptr, "Huge pages make"},
                                            {"another allocator", nullptr, "{} makes"},
                                            {"one NUMA node", nullptr, "One NUMA node makes"}};
const ResourceWords& words_of(Resource resource) {
  return kResourceWords[static_cast<std::size_t>(resource)];
}

std::string times(const Effect& effect) {
  return fmt::format("{:.2f} ± {:.2f} times as long", effect.slowdown, effect.half);
}

// "twice as fast" at most, for a share that costs half as much.
double half_of(const Cause& cause) { return 1 / (1 - cause.most() / 2); }

// The measured level nearest to this; the trial has one.
const Level& nearest(const Trial& trial, double taken) {
  return *std::ranges::min_element(trial.levels, {}, [&](const Level& level) {
    return level.slowdowns.empty() ? HUGE_VAL : std::abs(level.taken - taken);
  });
}

// Two digits are known of it, if at all.
std::string size_text(double bytes) {
  const double unit = std::pow(10, std::floor(std::log10(bytes / core::kMiB)) - 1) * core::kMiB;
  return show(std::round(bytes / unit) * unit, "B");
}

class Words {
 public:
  Words(const Evidence& evidence, const Explanation& found) : evidence_(evidence), found_(found) {}

  std::vector<std::string> sentences(std::size_t columns) {
    for (const Cause& cause : found_.causes) say_cause(cause);
    if (found_.causes.empty())
      say("{}", waits_unseen()
                    ? "It waits for most of its time, but there were too few looks to say for what."
                    : "No cause was found that takes 10 % of its time.");
    const std::size_t findings = out_.size();
    say_given();
    say_threads();
    say_memory();
    const std::size_t at_line = out_.size();
    if (!line_.empty()) say("    {}", line_);
    say_untouched(columns);
    // There is room for causes first, then for the line and what follows it, then for the others.
    std::size_t lines = 0;
    const auto admit = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t more = lines_of(out_[i], columns);
        if (i > 0 && lines + more > kMostLines)
          out_[i].clear();
        else
          lines += more;
      }
    };
    admit(0, findings);
    admit(at_line, out_.size());
    admit(findings, at_line);
    std::erase(out_, "");
    return std::move(out_);
  }
  const std::string& line() const { return line_; }

 private:
  template <class... Values>
  void say(fmt::format_string<Values...> sentence, Values&&... values) {
    out_.push_back(fmt::format(sentence, std::forward<Values>(values)...));
  }
  const Trial* trial(Resource resource) const { return find_trial(evidence_, resource); }

  static std::size_t lines_of(const std::string& sentence, std::size_t columns) {
    const std::string text = program::wrap_text(sentence, columns);
    return 1 + static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }

  bool waits_unseen() const {
    const Observed& seen = evidence_.observed;
    return !seen.seconds.empty() && seen.user + seen.system < 0.5 * core::median(seen.seconds);
  }

  // "It is bound by" of the first, "It is also bound by" of the others.
  void say_cause(const Cause& cause) {
    const bool first = out_.empty();
    const char* const bound = first ? "It is bound by" : "It is also bound by";
    const std::string share = show_percent(cause.share);
    if (cause.kind == Kind::bandwidth) {
      const Level& half = nearest(*trial(Resource::bandwidth), 0.5);
      say("{} memory bandwidth: with {} of it gone it takes {}.", bound, show_percent(half.taken),
          times(found_.effect_of(half)));
      say("Twice the bandwidth would make it at most {:.2f} times as fast (a straight line through "
          "its curve, continued).",
          half_of(cause));
    } else if (cause.kind == Kind::cache) {
      say_cache(bound);
    } else if (cause.kind == Kind::latency) {
      say("{} for single loads from memory, {} of its time: if they took half as long, it would be "
          "at most {:.2f} times as fast (the slope over what loads take).",
          first ? "It waits mostly" : "It also waits", share, half_of(cause));
    } else if (cause.kind == Kind::computing) {
      say("It computes for {} of its time: cores twice as fast would make it at most {:.2f} times "
          "as fast.{}",
          share, half_of(cause), first ? beside_computing() : "");
    } else {
      const KindWords& words = kKindWords[static_cast<std::size_t>(cause.kind)];
      const double gain = cause.most_gain();
      say("{} {} of its time {}; {} it is {}.", first ? "For" : "Also, for", share,
          cause.kind == Kind::pipe ? ends_of_pipe(words.what) : words.what, words.without,
          gain < 20
              ? fmt::format("{} {:.2f} times as fast", cause.interval ? "at most" : "about", gain)
              : "much faster, by how much is not known");
    }
  }

  void say_cache(const char* uses) {
    const auto& [bytes, slowdown] = *found_.working_set;
    say("{} the shared cache: it needs about {} of it, between {} and {}, and takes {:.1f} times "
        "as long without.",
        uses, size_text(bytes.value), size_text(bytes.interval.low), size_text(bytes.interval.high),
        slowdown.value);
  }

  std::string beside_computing() const {
    // Whether no thief made loads from memory so slow that a command that waits for them shows it.
    double slower = 0;
    if (const Trial* const bandwidth = trial(Resource::bandwidth))
      for (const Level& level : bandwidth->levels)
        if (!level.slowdowns.empty()) slower = std::max(slower, level.latency.value_or(1) - 1);
    if (slower < 3 * found_.half_of_one())
      return " Waits for single loads from memory would look the same here.";
    const Trial* const cpu = trial(Resource::cpu_time);
    if (cpu == nullptr) return "";
    const Level& most = nearest(*cpu, 1);
    return fmt::format(" With {} of the processor's time gone it takes {}.",
                       show_percent(most.taken), times(found_.effect_of(most)));
  }

  // Who waits for a pipe, and who works meanwhile.
  std::string ends_of_pipe(const char* otherwise) const {
    const auto& threads = evidence_.observed.threads;
    const auto waits = std::ranges::max_element(
        threads, {}, [](const ThreadSeen& each) { return each.looks(Doing::pipe); });
    const auto works = std::ranges::max_element(threads, {}, &ThreadSeen::alone);
    if (waits == works || works->alone == 0) return otherwise;
    return fmt::format("'{}' waits for '{}' at the other end of a pipe", waits->name, works->name);
  }

  void say_memory() {
    if (found_.working_set && !std::ranges::count(found_.causes, Kind::cache, &Cause::kind))
      say_cache("It uses");
    if (found_.needs_bandwidth && found_.bandwidth->knee.value > 1)
      say("It needs {} of {} of memory bandwidth; more would not help.",
          show(*found_.needs_bandwidth, "B/s"), show(*evidence_.machine.bandwidth, "B/s"));
    for (const Trial& taken : evidence_.trials) {
      const char* const with = words_of(taken.resource).with;
      if (with == nullptr || trial(taken.resource) != &taken) continue;
      const Effect effect = found_.effect_of(nearest(taken, 1));
      if (effect.slower()) say("With {} it takes {}.", with, times(effect));
    }
  }

  void say_threads() {
    const Trial* const threads = trial(Resource::threads);
    if (threads == nullptr) return;
    const Level* best = nullptr;
    Effect least{.slowdown = HUGE_VAL};
    for (const Level& level : threads->levels) {
      if (level.slowdowns.empty()) continue;
      const Effect effect = found_.effect_of(level);
      // Fewer threads are as good unless more are certainly faster.
      if (effect.slowdown < least.slowdown - effect.half) best = &level, least = effect;
    }
    const bool more = best != &threads->levels.back();
    const auto number = static_cast<std::uint64_t>(best->taken);
    if (least.faster()) {
      say("With {} it is {:.2f} times as fast as you start it (measured){}.",
          core::counted(number, "thread"), 1 / least.slowdown,
          more ? "; with more it is not faster" : "");
      offer(*threads, std::to_string(number), least);
    } else if (more) {
      say("More than {} {} not make it faster (up to {:.0f} were tried).",
          core::counted(number, "thread"), number == 1 ? "does" : "do",
          threads->levels.back().taken);
    }
    if (!found_.threads || !std::isfinite(found_.threads->one_worker_seconds)) return;
    const core::ScalabilityLaw& law = found_.threads->law;
    if (law.contention > 0.01)
      say("However many threads: at most {:.1f} times as fast as with one (the law of scalability, "
          "{} of the work cannot be shared out).",
          law.coherency > 0 ? law.speedup(std::round(std::max(1.0, found_.threads->peak())))
                            : 1 / law.contention,
          show_percent(law.contention));
  }

  void say_given() {
    for (const Trial& given : evidence_.trials) {
      const char* const makes = words_of(given.resource).given;
      if (makes == nullptr) continue;
      for (const Level& level : given.levels) {
        const Effect effect = level.slowdowns.empty() ? Effect{} : found_.effect_of(level);
        if (!effect.faster()) continue;
        say("{} it {:.2f} ± {:.2f} times as fast (measured).",
            fmt::format(fmt::runtime(makes), level.setting), 1 / effect.slowdown,
            effect.half / (effect.slowdown * effect.slowdown));
        offer(given, level.setting, effect);
      }
    }
  }

  // Keeps the line of what is fastest: nothing was measured together.
  void offer(const Trial& given, const std::string& value, const Effect& effect) {
    if (effect.slowdown >= fastest_) return;
    fastest_ = effect.slowdown;
    std::string threads = value;
    if (given.resource != Resource::threads) {  // as it was started: the level with nothing but 1
      double number = evidence_.machine.pus;
      if (const Trial* const numbers = trial(Resource::threads))
        for (const Level& level : numbers->levels)
          if (!level.slowdowns.empty() && core::median(level.slowdowns) == 1) number = level.taken;
      threads = fmt::format("{:.0f}", number);
    }
    const std::pair<std::string, std::string> filled[] = {{"threads", threads}};
    line_ = filled_in(evidence_.command, filled);
    if (!given.option.empty())
      line_ =
          fmt::format("tabane run {} -- {}", fmt::format(fmt::runtime(given.option), value), line_);
  }

  // What was tried without effect, and what was not tried; and what else the reader has to know.
  void say_untouched(std::size_t columns) {
    std::vector<std::string> none, untried;
    std::vector<std::pair<std::string, std::vector<std::string>>> reasons;  // with what they stop
    for (const Trial& one : evidence_.trials) {
      const bool tried = trial(one.resource) == &one;
      const bool lost = !tried && !one.levels.empty() && !one.levels[0].slowdowns.empty();
      const std::string reason = lost ? "the thieves lost their data to the command" : one.untried;
      if (!reason.empty()) {
        auto same = std::ranges::find(reasons, reason, [](auto& each) { return each.first; });
        if (same == reasons.end()) same = reasons.insert(same, {reason, {}});
        same->second.emplace_back(name_of(one.resource));
        untried.emplace_back(name_of(one.resource));
      } else if (tried && one.resource != Resource::threads &&
                 std::ranges::none_of(one.levels, [&](const Level& level) {
                   const bool told = tells(one.resource, level);
                   const Effect seen = told ? found_.effect_of(level) : Effect{};
                   return seen.slower() || seen.faster();
                 })) {
        none.emplace_back(name_of(one.resource));
      }
    }
    if (!none.empty()) say("No effect was seen of: {}.", join(none));
    std::vector<std::string> with_reasons;
    for (const auto& [reason, names] : reasons)
      with_reasons.push_back(fmt::format("{} ({})", join(names), reason));
    const std::size_t at_untried = out_.size();
    if (!untried.empty()) say("Not tried: {}.", fmt::join(with_reasons, "; "));
    if (found_.half_of_one() > kRestless)
      say("Equal runs differ by {} from each other: smaller effects are not seen. Measure when "
          "less "
          "else runs, or longer (--time).",
          show_percent(found_.half_of_one()));
    for (const std::string& note : evidence_.notes) say("Note: {}", note);
    std::size_t lines = 0;
    for (const std::string& sentence : out_) lines += lines_of(sentence, columns);
    if (lines > kMostLines && !untried.empty())
      out_[at_untried] = fmt::format("Not tried: {} (-o DIR says why).", join(untried));
  }

  const Evidence& evidence_;
  const Explanation& found_;
  std::vector<std::string> out_;
  std::string line_;
  double fastest_ = 1;  // of what was given, its time relative to undisturbed runs
};

}  // namespace

const char* name_of(Kind kind) { return kKindWords[static_cast<std::size_t>(kind)].name; }

const char* name_of(Resource resource) { return words_of(resource).name; }

void put_into_words(const Evidence& evidence, std::size_t columns, Explanation& explanation) {
  Words words(evidence, explanation);
  explanation.sentences = words.sentences(columns);
  explanation.line = words.line();
}

}  // namespace tabane::lab::explain
