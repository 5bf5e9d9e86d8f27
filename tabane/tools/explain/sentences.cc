// The answer of `tabane explain` in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>
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

std::string times(const Effect& effect) {
  return fmt::format("{:.2f} ± {:.2f} times as long", effect.slowdown, effect.half);
}

// "twice as fast" at most, for a share that costs half as much.
std::string half_of(const Cause& cause) {
  return fmt::format("{:.2f}", 1 / (1 - cause.most() / 2));
}

const Level* nearest(const Trial& trial, double taken) {
  const Level* best = nullptr;
  for (const Level& level : trial.levels) {
    if (level.slowdowns.empty()) continue;
    if (best == nullptr || std::abs(level.taken - taken) < std::abs(best->taken - taken))
      best = &level;
  }
  return best;
}

// Two digits are known of it, if at all.
std::string size_text(double bytes) {
  const double unit = std::pow(10, std::floor(std::log10(bytes / 1024 / 1024)) - 1) * 1024 * 1024;
  return show(std::round(bytes / unit) * unit, "B");
}

constexpr std::tuple<Kind, const char*, const char*> kWords[] = {
    {Kind::locks, "its threads wait for each other, each in its turn (locks, barriers)",
     "without these waits"},
    {Kind::imbalance, "some of its threads have more work than others",
     "with the same work evenly spread"},
    {Kind::serial, "one thread works and the others have nothing to do",
     "with this part spread over all threads"},
    {Kind::faults, "the system gives it memory, page by page (page faults)", "without faults"},
    {Kind::disk, "it waits for disks", "with files in memory"},
    {Kind::network, "it waits for the network or another program's answer", "without these waits"},
    {Kind::sleep, "it sleeps", "without these waits"},
    {Kind::others,
     "its threads could run and wait for a PU, because others run or it has more threads than PUs",
     "with a PU for each thread"}};

class Words {
 public:
  Words(const Evidence& evidence, const Explanation& found) : evidence_(evidence), found_(found) {}

  std::vector<std::string> sentences(std::size_t columns) {
    for (const Cause& cause : found_.causes) say(cause);
    if (found_.causes.empty())
      out_.push_back(
          waits_unseen()
              ? "It waits for most of its time, but there were too few looks to say for what."
              : "No cause was found that takes 10 % of its time.");
    const std::size_t findings = out_.size();
    say_given();
    say_threads();
    say_memory();
    const std::size_t at_line = out_.size();
    if (!line_.empty()) out_.push_back("    " + line_);
    say_untouched();
    if (found_.half_of_one > kRestless)
      out_.push_back(
          fmt::format("Equal runs differ by {} from each other: smaller effects are not seen. "
                      "Measure when less else runs, or longer (--time).",
                      show_percent(found_.half_of_one)));
    for (const std::string& note : evidence_.notes) out_.push_back("Note: " + note);

    const auto lines_of = [&](const std::string& sentence) {
      const std::string text = program::wrap_text(sentence, columns);
      return 1 + static_cast<std::size_t>(std::ranges::count(text, '\n'));
    };
    std::size_t lines = 0;
    for (const std::string& sentence : out_) lines += lines_of(sentence);
    if (lines > kMostLines && !untried_.empty())
      out_[at_untried_] = fmt::format("Not tried: {} (-o DIR says why).", join(untried_));
    // There is room for causes first, then for the line and what follows it, then for the others.
    lines = 0;
    const auto admit = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t more = lines_of(out_[i]);
        if (i == 0 || lines + more <= kMostLines)
          lines += more;
        else
          out_[i].clear();
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
  const Trial* trial(Resource resource) const { return find_trial(evidence_, resource); }
  // "It is bound by" of the first, "It also …" of the others.
  bool first() const { return out_.empty(); }

  bool waits_unseen() const {
    const Observed& seen = evidence_.observed;
    return !seen.seconds.empty() && seen.user + seen.system < 0.5 * core::median(seen.seconds);
  }

  void say(const Cause& cause) {
    switch (cause.kind) {
      case Kind::bandwidth:
        return say_bandwidth(cause);
      case Kind::cache:
        return say_cache(first() ? "It is bound by" : "It is also bound by");
      case Kind::latency:
        out_.push_back(
            fmt::format("{} for single loads from memory, {} of its time: if they took half as "
                        "long, it would be at most {} times as fast (the slope over what loads "
                        "take).",
                        first() ? "It waits mostly" : "It also waits", show_percent(cause.share),
                        half_of(cause)));
        return;
      case Kind::computing:
        return say_computing(cause);
      case Kind::pipe:
        return say_pipe(cause);
      default:
        for (const auto& [kind, what, without] : kWords)
          if (kind == cause.kind) say_gain(cause, what, without);
    }
  }

  void say_gain(const Cause& cause, std::string_view what, const char* without) {
    const double gain = cause.most_gain();
    const std::string faster = gain < 20 ? fmt::format("{} {:.2f} times as fast",
                                                       cause.interval ? "at most" : "about", gain)
                                         : "much faster, by how much is not known";
    out_.push_back(fmt::format("{} {} of its time {}; {} it is {}.", first() ? "For" : "Also, for",
                               show_percent(cause.share), what, without, faster));
  }

  void say_bandwidth(const Cause& cause) {
    const Level* const half = nearest(*trial(Resource::bandwidth), 0.5);
    out_.push_back(fmt::format("{} by memory bandwidth: with {} of it gone it takes {}.",
                               first() ? "It is bound" : "It is also bound",
                               show_percent(half->taken), times(found_.effect_of(*half))));
    out_.push_back(fmt::format(
        "Twice the bandwidth would make it at most {} times as fast (a straight line through its "
        "curve, continued).",
        half_of(cause)));
  }

  void say_cache(const char* uses) {
    const WorkingSet& set = *found_.working_set;
    out_.push_back(
        fmt::format("{} the shared cache: it needs about {} of it, between {} and {}, and takes "
                    "{:.1f} times as "
                    "long without.",
                    uses, size_text(set.bytes), size_text(set.interval.low),
                    size_text(set.interval.high), set.slowdown));
  }

  void say_computing(const Cause& cause) {
    std::string sentence = fmt::format(
        "It computes for {} of its time: cores twice as fast would make it at most {} times as "
        "fast.",
        show_percent(cause.share), half_of(cause));
    if (first() && hides_loads())
      sentence += " Waits for single loads from memory would look the same here.";
    const Trial* const cpu = trial(Resource::cpu_time);
    if (cpu != nullptr && first() && !hides_loads()) {
      const Level& most = *nearest(*cpu, 1);
      sentence += fmt::format(" With {} of the processor's time gone it takes {}.",
                              show_percent(most.taken), times(found_.effect_of(most)));
    }
    out_.push_back(std::move(sentence));
  }

  // Whether no thief made loads from memory so slow that a command that waits for them shows it.
  bool hides_loads() const {
    double most = 0;
    if (const Trial* const bandwidth = trial(Resource::bandwidth))
      for (const Level& level : bandwidth->levels)
        if (!level.slowdowns.empty()) most = std::max(most, level.latency.value_or(1) - 1);
    return most < 3 * found_.half_of_one;
  }

  // Who waits for a pipe, and who works meanwhile.
  void say_pipe(const Cause& cause) {
    const ThreadSeen *waits = nullptr, *works = nullptr;
    for (const ThreadSeen& thread : evidence_.observed.threads) {
      if (waits == nullptr || thread(Doing::pipe) > (*waits)(Doing::pipe)) waits = &thread;
      if (works == nullptr || thread.alone > works->alone) works = &thread;
    }
    const bool own = waits != nullptr && works != waits && works->alone > 0;
    const std::string what = own ? fmt::format("'{}' waits for '{}' at the other end of a pipe",
                                               waits->name, works->name)
                                 : "it waits for the other end of a pipe";
    say_gain(cause, what, "with another end that is always ready");
  }

  void say_memory() {
    if (found_.working_set &&
        std::ranges::find(found_.causes, Kind::cache, &Cause::kind) == found_.causes.end())
      say_cache("It uses");
    if (found_.needs_bandwidth && found_.bandwidth->knee > 1)
      out_.push_back(fmt::format("It needs {} of {} of memory bandwidth; more would not help.",
                                 show(*found_.needs_bandwidth, "B/s"),
                                 show(*evidence_.machine.bandwidth, "B/s")));
    for (const auto& [resource, with] : {std::pair{Resource::units, "neighbours that compute"},
                                         {Resource::disk, "a neighbour that writes to its disk"},
                                         {Resource::cold, "files that are not in memory"},
                                         {Resource::remote, "memory on another NUMA node"}}) {
      const Trial* const taken = trial(resource);
      if (taken == nullptr) continue;
      const Effect effect = found_.effect_of(*nearest(*taken, 1));
      if (effect.slower()) out_.push_back(fmt::format("With {} it takes {}.", with, times(effect)));
    }
  }

  void say_threads() {
    const Trial* const threads = trial(Resource::threads);
    if (threads == nullptr) return;
    const Level* best = nullptr;
    double least = HUGE_VAL;
    for (const Level& level : threads->levels) {
      if (level.slowdowns.empty()) continue;
      const Effect effect = found_.effect_of(level);
      // Fewer threads are as good unless more are certainly faster.
      if (effect.slowdown < least - effect.half) best = &level, least = effect.slowdown;
    }
    if (best == nullptr) return;
    const Effect effect = found_.effect_of(*best);
    const bool more = best != &threads->levels.back();
    const auto number = static_cast<std::uint64_t>(best->taken);
    if (effect.faster()) {
      out_.push_back(fmt::format("With {} it is {:.2f} times as fast as you start it (measured){}.",
                                 core::counted(number, "thread"), 1 / effect.slowdown,
                                 more ? "; with more it is not faster" : ""));
      offer(*threads, std::to_string(number), effect);
    } else if (more) {
      out_.push_back(fmt::format("More than {} {} not make it faster (up to {:.0f} were tried).",
                                 core::counted(number, "thread"), number == 1 ? "does" : "do",
                                 threads->levels.back().taken));
    }
    if (found_.threads && std::isfinite(found_.threads->one_worker_seconds)) {
      const core::ScalabilityLaw& law = found_.threads->law;
      if (law.contention > 0.01)
        out_.push_back(fmt::format(
            "However many threads: at most {:.1f} times as fast as with one (the law of "
            "scalability, {} of the work cannot be shared out).",
            law.coherency > 0 ? law.speedup(std::round(std::max(1.0, found_.threads->peak())))
                              : 1 / law.contention,
            show_percent(law.contention)));
    }
  }

  void say_given() {
    for (const Resource resource : {Resource::huge_pages, Resource::allocator, Resource::local}) {
      const Trial* const given = trial(resource);
      if (given == nullptr) continue;
      for (const Level& level : given->levels) {
        if (level.slowdowns.empty()) continue;
        const Effect effect = found_.effect_of(level);
        if (!effect.faster()) continue;
        const std::string what = resource == Resource::huge_pages ? "Huge pages make"
                                 : resource == Resource::local    ? "One NUMA node makes"
                                                                  : level.setting + " makes";
        out_.push_back(fmt::format("{} it {:.2f} ± {:.2f} times as fast (measured).", what,
                                   1 / effect.slowdown,
                                   effect.half / (effect.slowdown * effect.slowdown)));
        offer(*given, level.setting, effect);
      }
    }
  }

  // Keeps the line of what is fastest: nothing was measured together.
  void offer(const Trial& given, const std::string& value, const Effect& effect) {
    if (effect.slowdown >= fastest_) return;
    fastest_ = effect.slowdown;
    double threads = evidence_.machine.pus;  // as it was started: the level with nothing but 1
    if (const Trial* const numbers = trial(Resource::threads))
      for (const Level& level : numbers->levels)
        if (!level.slowdowns.empty() && core::median(level.slowdowns) == 1) threads = level.taken;
    const bool is_number = given.resource == Resource::threads;
    const std::pair<std::string, std::string> filled[] = {
        {"threads", is_number ? value : fmt::format("{:.0f}", threads)}};
    line_ = filled_in(evidence_.command, filled);
    if (!given.option.empty())
      line_ =
          fmt::format("tabane run {} -- {}", fmt::format(fmt::runtime(given.option), value), line_);
  }

  // What was tried without effect, and what was not tried.
  void say_untouched() {
    std::vector<std::string> none, untried;
    std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
    for (const Trial& one : evidence_.trials) {
      const bool tried = trial(one.resource) == &one,
                 lost = !tried && !one.levels.empty() && !one.levels[0].slowdowns.empty();
      const std::string reason = lost ? "the thieves lost their data to the command" : one.untried;
      if (!reason.empty()) {
        auto same = std::ranges::find(reasons, reason, [](auto& each) { return each.first; });
        if (same == reasons.end()) same = reasons.insert(same, {reason, {}});
        same->second.emplace_back(name_of(one.resource));
        untried_.emplace_back(name_of(one.resource));
      } else if (tried && one.resource != Resource::threads) {
        const bool effect = std::ranges::any_of(one.levels, [&](const Level& level) {
          if (!tells(one.resource, level)) return false;
          const Effect seen = found_.effect_of(level);
          return seen.slower() || seen.faster();
        });
        if (!effect) none.emplace_back(name_of(one.resource));
      }
    }
    if (!none.empty()) out_.push_back(fmt::format("No effect was seen of: {}.", join(none)));
    for (const auto& [reason, names] : reasons)
      untried.push_back(fmt::format("{} ({})", join(names), reason));
    at_untried_ = out_.size();
    if (!untried.empty()) out_.push_back(fmt::format("Not tried: {}.", fmt::join(untried, "; ")));
  }

  const Evidence& evidence_;
  const Explanation& found_;
  std::vector<std::string> out_;
  std::string line_;
  double fastest_ = 1;                // of what was given, its time relative to undisturbed runs
  std::vector<std::string> untried_;  // names
  std::size_t at_untried_ = 0;        // among the sentences
};

}  // namespace

const char* name_of(Kind kind) {
  static constexpr const char* kNames[] = {
      "memory bandwidth", "memory latency", "shared cache",    "computing", "locks",
      "unequal threads",  "one thread",     "page faults",     "disks",     "a pipe",
      "network",          "sleep",          "waiting for a PU"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* name_of(Resource resource) {
  static constexpr const char* kNames[] = {
      "memory bandwidth",  "shared cache", "units of the cores",
      "processor time",    "disk",         "files not in memory",
      "remote memory",     "threads",      "huge pages",
      "another allocator", "one NUMA node"};
  return kNames[static_cast<std::size_t>(resource)];
}

void put_into_words(const Evidence& evidence, std::size_t columns, Explanation& explanation) {
  Words words(evidence, explanation);
  explanation.sentences = words.sentences(columns);
  explanation.line = words.line();
}

}  // namespace tabane::lab::explain
