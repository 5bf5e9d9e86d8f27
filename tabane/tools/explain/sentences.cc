// The answer of `tabane explain` in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tabane/lab/record/text.h"
#include "tabane/tools/explain/conclude.h"

namespace tabane::lab::explain {
namespace {

constexpr std::size_t kMostLines = 12, kColumns = 96;  // less than 100, for words that do not fit
constexpr double kRestless = 0.2;  // half an interval of one run, from which on it is said

std::size_t lines_of(const std::string& sentence) { return 1 + sentence.size() / kColumns; }

std::string times(const Effect& effect) {
  return fmt::format("{:.2f} ± {:.2f} times as", effect.slowdown, effect.half);
}

// "twice as fast" at most, for a share that costs half as much.
std::string half_of(const Cause& cause) {
  return fmt::format("{:.2f}", 1 / (1 - cause.interval.high / 2));
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

std::string text_of_share(double taken) {
  return std::abs(taken - 0.5) < 0.03 ? "half" : show_percent(taken);
}

class Words {
 public:
  Words(const Evidence& evidence, const Explanation& found) : evidence_(evidence), found_(found) {}

  std::vector<std::string> sentences() {
    for (const Cause& cause : found_.causes) say(cause);
    if (found_.causes.empty())
      out_.push_back(
          waits_unseen()
              ? "It waits for most of its time, but there were too few looks to say for what."
              : "No cause was found that takes 10 % of its time.");
    say_given();
    say_threads();
    say_memory();
    std::vector<std::string> answer = std::exchange(out_, {});
    if (!options_.empty()) line_ = fmt::format("tabane run{} -- {}", options_, evidence_.command);
    if (!line_.empty()) out_.push_back("    " + line_);
    say_rest();
    if (found_.half_of_one > kRestless)
      out_.push_back(
          fmt::format("Equal runs differ by {} from each other: smaller effects are not seen. "
                      "Measure when less "
                      "else runs, or longer (--time).",
                      show_percent(found_.half_of_one)));
    for (const std::string& note : evidence_.notes) out_.push_back("Note: " + note);
    std::size_t lines = 0;
    for (const std::string& sentence : out_) lines += lines_of(sentence);
    std::erase_if(answer, [&](const std::string& sentence) {
      const bool fits = lines + lines_of(sentence) <= kMostLines || &sentence == &answer.front();
      if (fits) lines += lines_of(sentence);
      return !fits;
    });
    out_.insert(out_.begin(), answer.begin(), answer.end());
    return std::move(out_);
  }
  const std::string& line() const { return line_; }

 private:
  const Trial* trial(Resource resource) const { return find_trial(evidence_, resource); }
  bool is_cause(Kind kind) const {
    return std::ranges::find(found_.causes, kind, &Cause::kind) != found_.causes.end();
  }
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
        return say_cache();
      case Kind::latency:
        out_.push_back(
            fmt::format("{} for single loads from memory, {} of its time: if they took half as "
                        "long, it would be "
                        "at most {} times as fast (the slope over what loads take).",
                        first() ? "It waits mostly" : "It also waits", show_percent(cause.share),
                        half_of(cause)));
        return;
      case Kind::computing:
        return say_computing(cause);
      case Kind::locks:
        return say_gain(cause,
                        "its threads wait for each other, each in its turn (locks, barriers)",
                        "without these waits");
      case Kind::imbalance:
        return say_gain(cause, "some of its threads have more work than others",
                        "with the same work evenly spread");
      case Kind::serial:
        return say_gain(cause, "one thread works and the others have nothing to do",
                        "with this part spread over all threads");
      case Kind::faults:
        return say_gain(cause, "the system gives it memory, page by page (page faults)",
                        "without faults");
      case Kind::disk:
        return say_gain(cause, "it waits for disks", "with files in memory");
      case Kind::pipe:
        return say_pipe(cause);
      case Kind::network:
        return say_gain(cause, "it waits for the network or another program's answer",
                        "without these waits");
      case Kind::sleep:
        return say_gain(cause, "it sleeps", "without these waits");
      case Kind::others:
        return say_gain(cause,
                        "its threads could run and wait for a PU, because others run or it has "
                        "more threads than PUs",
                        "with a PU for each thread");
    }
  }

  void say_gain(const Cause& cause, std::string_view what, const char* without) {
    const double gain = cause.most_gain();
    out_.push_back(fmt::format("{} {} of its time {}; {} it is {} times as fast.",
                               first() ? "For" : "Also, for", show_percent(cause.share), what,
                               without, gain < 20 ? fmt::format("at most {:.2f}", gain) : "many"));
  }

  void say_bandwidth(const Cause& cause) {
    const Level* const half = nearest(*trial(Resource::bandwidth), 0.5);
    out_.push_back(fmt::format("{} by memory bandwidth: with {} of it gone it takes {} long.",
                               first() ? "It is bound" : "It is also bound",
                               text_of_share(half->taken), times(found_.effect_of(*half))));
    out_.push_back(fmt::format(
        "Twice the bandwidth would make it at most {} times as fast (a straight line through its "
        "curve, continued).",
        half_of(cause)));
  }

  std::string working_set() const {
    const WorkingSet& set = *found_.working_set;
    return fmt::format("about {} of it, between {} and {}", size_text(set.bytes),
                       size_text(set.interval.low), size_text(set.interval.high));
  }

  void say_cache() {
    if (!found_.working_set) return;
    out_.push_back(fmt::format(
        "{} by the shared cache: it needs {}, and takes {:.1f} times as long without.",
        first() ? "It is bound" : "It is also bound", working_set(), found_.working_set->slowdown));
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
      sentence += fmt::format(" With {} of the processor's time gone it takes {} long.",
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
    if (found_.working_set && !is_cause(Kind::cache))
      out_.push_back(
          fmt::format("It needs the shared cache, {}: without, it takes {:.1f} times as long.",
                      working_set(), found_.working_set->slowdown));
    if (found_.needs_bandwidth && found_.bandwidth->knee > 1)
      out_.push_back(fmt::format("It needs {} of {} of memory bandwidth; more would not help.",
                                 show(*found_.needs_bandwidth, "B/s"),
                                 show(*evidence_.machine.bandwidth, "B/s")));
    if (const Trial* const units = trial(Resource::units)) {
      const Effect effect = found_.effect_of(units->levels.front());
      if (effect.slower() && effect.slowdown > 1.1)
        out_.push_back(fmt::format(
            "A neighbour that computes on {} makes it take {} long.",
            units->levels.front().setting.empty() ? "the other PU" : units->levels.front().setting,
            times(effect)));
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
    if (effect.faster()) {
      out_.push_back(fmt::format(
          "With {:.0f} threads it is {:.2f} times as fast as you start it (measured){}.",
          best->taken, 1 / effect.slowdown, more ? "; with more it is not faster" : ""));
      add_option(*threads, fmt::format("{:.0f}", best->taken));
    } else if (more) {
      out_.push_back(
          fmt::format("More threads than {:.0f} do not make it faster (up to {:.0f} "
                      "were tried).",
                      best->taken, threads->levels.back().taken));
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
    const Trial* chosen = nullptr;
    const Level* best = nullptr;
    for (const Resource resource : {Resource::huge_pages, Resource::allocator, Resource::local}) {
      const Trial* const given = trial(resource);
      if (given == nullptr) continue;
      for (const Level& level : given->levels) {
        if (level.slowdowns.empty()) continue;
        const Effect effect = found_.effect_of(level);
        if (!effect.faster()) continue;
        out_.push_back(
            fmt::format("{} make it {:.2f} ± {:.2f} times as fast (measured).",
                        level.setting.empty() ? name_of(resource)
                                              : fmt::format("The allocations of {}", level.setting),
                        1 / effect.slowdown, effect.half / (effect.slowdown * effect.slowdown)));
        out_.back().front() = static_cast<char>(std::toupper(out_.back().front()));
        const bool better = best == nullptr || effect.slowdown < found_.effect_of(*best).slowdown;
        if (better && !given->option.empty()) chosen = given, best = &level;
      }
    }
    if (best != nullptr) add_option(*chosen, best->setting);
    if (!options_.empty()) line_ = fmt::format("tabane run{} -- {}", options_, evidence_.command);
  }

  void add_option(const Trial& trial, const std::string& value) {
    if (trial.option.empty()) return;
    std::string option = trial.option;
    if (const auto at = option.find("{}"); at != std::string::npos) option.replace(at, 2, value);
    options_ += " " + option;
  }

  // What was tried without effect, and what was not tried.
  void say_rest() {
    std::vector<std::string> none, untried;
    std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
    for (const Trial& one : evidence_.trials) {
      if (!one.untried.empty()) {
        auto same = std::ranges::find(reasons, one.untried, [](auto& each) { return each.first; });
        if (same == reasons.end()) same = reasons.insert(same, {one.untried, {}});
        same->second.emplace_back(name_of(one.resource));
        continue;
      }
      if (one.resource == Resource::threads) continue;
      bool effect = false, any = false;
      for (const Level& level : one.levels) {
        if (level.slowdowns.empty()) continue;
        any = true;
        const Effect seen = found_.effect_of(level);
        effect |= seen.slower() || seen.faster();
      }
      if (any && !effect) none.push_back(name_of(one.resource));
    }
    if (!none.empty()) out_.push_back(fmt::format("No effect was seen of: {}.", join(none)));
    for (const auto& [reason, names] : reasons)
      untried.push_back(fmt::format("{} ({})", join(names), reason));
    if (!untried.empty()) out_.push_back(fmt::format("Not tried: {}.", fmt::join(untried, "; ")));
  }

  const Evidence& evidence_;
  const Explanation& found_;
  std::vector<std::string> out_;
  std::string options_, line_;
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

void put_into_words(const Evidence& evidence, Explanation& explanation) {
  Words words(evidence, explanation);
  explanation.sentences = words.sentences();
  explanation.line = words.line();
}

}  // namespace tabane::lab::explain
