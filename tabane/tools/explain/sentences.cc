// The answer of `tabane explain` in words, which are in captions.txt.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <set>
#include <utility>

#include "tabane/core/units.h"
#include "tabane/lab/commands/child.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/captions.h"
#include "tabane/program/layout.h"
#include "tabane/tools/explain/conclude.h"

namespace tabane::lab::explain {
namespace {

constexpr std::ptrdiff_t kMostLines = 12;
constexpr std::size_t kColumns = 100;  // in which lines are counted, whatever the terminal has
// Where there is no room, reasons are left out first, then some figures, then sentences about other
// causes than the first.
constexpr int kNoReasons = 1, kFewFigures = 2, kOneCause = 3, kBriefest = 4;
constexpr double kRestless = 0.2;  // half an interval of one run, from which on it is said
constexpr double kMayHide = 0.3;   // a share, from which on a cause that was not found is named
constexpr double kMuch = 20;       // times as fast: by how much is not known then

// The measured level nearest to this; the trial has one.
const Level& nearest(const Trial& trial, double taken) {
  return *std::ranges::min_element(
      trial.levels, {}, [&](const Level& level) { return std::abs(level.taken - taken); });
}

// The same, of the level with the clearest effect: if that one has none, no level has.
const Level& clearest(const Explanation& found, const Trial& trial) {
  return *std::ranges::max_element(trial.levels, {}, [&](const Level& level) {
    if (!tells(trial.resource, level)) return -HUGE_VAL;
    const Effect effect = found.effect_of(level, trial.resource);
    return std::abs(effect.slowdown - 1) - effect.half;
  });
}

// "1.54 (at most 1.93) times as fast"
std::string gain_text(const Cause& cause) {
  const double gain = cause.gain_of(cause.share), most = cause.gain_of(cause.most());
  if (gain >= kMuch) return "much faster, by how much is not known";
  if (most >= kMuch) return fmt::format("{:.2f} times as fast or more", gain);
  if (!cause.interval) return fmt::format("about {:.2f} times as fast", gain);
  return fmt::format("{:.2f} (at most {:.2f}) times as fast", gain, most);
}

// Two digits are known of it, if at all.
std::string size_text(double bytes) {
  const double unit = std::pow(10, std::floor(std::log10(bytes / core::kMiB)) - 1) * core::kMiB;
  return show(std::round(bytes / unit) * unit, "B");
}

// A paragraph of captions.txt with its values.
std::string sentence_of(std::string_view name, const CaptionValues& values) {
  const auto files = caption_files();
  const auto own = std::ranges::find(files, std::string_view("explain"), &CaptionFile::study);
  const auto [first, more] =
      caption_of(own->text, name, [&](std::string_view value) -> std::optional<std::string> {
        const auto found = values.find(value);
        return found == values.end() ? std::nullopt : std::optional(found->second);
      });
  return more.empty() ? first : first + " " + more;
}

class Words {
 public:
  Words(const Evidence& evidence, const Explanation& found) : evidence_(evidence), found_(found) {}

  // All that there is to say.
  std::vector<std::string> all() {
    brief_ = 0;
    say_all();
    return out_;
  }

  // Says as much as there is room for. What is still too long loses its end, but no caveat.
  std::vector<std::string> brief() {
    const auto lines = [&] {
      std::ptrdiff_t sum = 0;
      for (const std::string& sentence : out_)
        sum += 1 + std::ranges::count(program::wrap_text(sentence, kColumns), '\n');
      return sum;
    };
    do say_all();
    while (lines() > kMostLines && ++brief_ < kBriefest);
    while (lines() > kMostLines && caveats_ > 1) out_.erase(out_.begin() + --caveats_);
    return out_;
  }

 private:
  void say_all() {
    out_.clear(), told_.clear(), line_.clear();
    fastest_ = 1;
    std::vector<std::string> others;
    for (const Cause& cause : found_.causes) {
      if (cause.kind <= Kind::latency) told_.insert(Resource::bandwidth);
      if (cause.kind == Kind::cache) told_.insert(Resource::cache);
      if (cause.kind == Kind::computing) told_.insert(Resource::cpu_time);
      if (brief_ < kOneCause || out_.empty())
        say_cause(cause);
      else
        others.push_back(fmt::format("{} {}", name_of(cause.kind), show_percent(cause.share)));
    }
    if (!others.empty()) say("other causes", {{"names", join(others)}});
    if (found_.causes.empty()) say_nothing();
    say_given();
    say_threads();
    if (!line_.empty()) out_.insert(out_.begin() + reason_ + 1, "    " + line_);
    say_memory();
    say_rest();
  }

  void say_nothing() {
    const Observed& seen = evidence_.observed;
    const bool waits =
        !seen.seconds.empty() && seen.user + seen.system < 0.5 * core::median(seen.seconds);
    const bool looks = waits_of(seen, evidence_.machine.pus).has_value();
    say(!waits ? "nothing" : looks ? "waits for something" : "too few looks");
  }

  void say(std::string_view name, const CaptionValues& values = {}) {
    out_.push_back(sentence_of(name, values));
  }
  const Trial* trial(Resource resource) const { return find_trial(evidence_, resource); }

  void say_cause(const Cause& cause) {
    const bool first = out_.empty();
    CaptionValues values = {{"bound", first ? "It is bound by" : "It is also bound by"},
                            {"waits", first ? "It waits" : "It also waits"},
                            {"for", first ? "For" : "Also, for"},
                            {"waiting", "it waits for"},
                            {"share", show_percent(cause.share)},
                            {"gain", gain_text(cause)}};
    if (cause.kind == Kind::bandwidth)
      add_effect(Resource::bandwidth, nearest(*trial(Resource::bandwidth), 0.5), values);
    // Of these two the likelier one is named.
    if (cause.kind <= Kind::latency && cause.interval->low == 0) {
      const bool loads = cause.kind == Kind::latency;
      const Cause* const other = found_.find(loads ? Kind::bandwidth : Kind::latency);
      if (other != nullptr && other->most() >= kWorthAWord)
        values["other"] = loads ? name_of(other->kind) : "single loads";
    }
    if (cause.kind == Kind::cache) values.merge(cache_values());
    if (!evidence_.observed.threads.empty()) add_ends_of_pipe(values);
    if (cause.kind == Kind::serial && found_.one_or_unequal) {
      values["same"] = "look the same";
      if (trial(Resource::threads)) values["numbers"] = "numbers of threads";
    }
    if (cause.kind == Kind::computing) {
      if (may_hide(Kind::latency))
        values["memory"] = may_hide(Kind::bandwidth) ? "memory" : "single loads from memory";
      if (const Trial* const taken = trial(Resource::cpu_time); taken && brief_ < kOneCause)
        add_effect(Resource::cpu_time, nearest(*taken, 1), values);
    }
    say(name_of(cause.kind), values);
  }

  // Without a second run of anything, nobody knows how much equal runs differ.
  std::string with_half(double value, double half) const {
    return found_.noise.measured ? fmt::format("{:.2f} ± {:.2f}", value, half)
                                 : fmt::format("{:.2f}", value);
  }

  // Adds how long it takes then.
  void add_effect(Resource of, const Level& level, CaptionValues& values) const {
    values["setting"] = level.setting;
    values["taken"] = level.taken <= 1 ? show_percent(level.taken) : size_text(level.taken);
    const Effect effect = found_.effect_of(level, of);
    values["times"] = with_half(effect.slowdown, effect.half) + " times as long";
  }

  CaptionValues cache_values() const {
    const auto& [bytes, slowdown] = *found_.working_set;
    return {{"needs", size_text(bytes.value)},
            {"low", size_text(bytes.interval.low)},
            {"high", size_text(bytes.interval.high)},
            {"slowdown", fmt::format("{:.1f}", slowdown.value)}};
  }

  // Whether thieves took too little for a command that waits for it most of its time to show it.
  bool may_hide(Kind kind) const {
    const Cause* const cause = found_.find(kind);
    return cause == nullptr || (cause->share == 0 && cause->most() > kMayHide);
  }

  // Who waits for a pipe most of its time, and who works meanwhile.
  void add_ends_of_pipe(CaptionValues& values) const {
    const auto& threads = evidence_.observed.threads;
    const auto at_pipe = [](const ThreadSeen& each) { return each.looks(Doing::pipe); };
    const auto waits = std::ranges::max_element(threads, {}, at_pipe);
    const auto works = std::ranges::max_element(threads, {}, &ThreadSeen::alone);
    if (waits == works || works->alone == 0 || 2 * at_pipe(*waits) < waits->looks.all()) return;
    values["waiting"] = values["who"] =
        fmt::format("'{}' waits for '{}' at", waits->name, works->name);
  }

  void say_memory() {
    if (found_.working_set && told_.insert(Resource::cache).second) {
      CaptionValues values = cache_values();
      values["bound"] = "It uses";
      say(name_of(Kind::cache), values);
    }
    const double knee = found_.bandwidth ? found_.bandwidth->knee.value : 1;
    const std::optional<double> all = evidence_.machine.bandwidth;
    if (knee > 1 && all && told_.insert(Resource::bandwidth).second)
      say("knee", {{"needs", show(*all / knee, "B/s")}, {"all", show(*all, "B/s")}});
  }

  void say_threads() {
    const Trial* const threads = trial(Resource::threads);
    if (threads == nullptr) return;
    told_.insert(Resource::threads);
    const Level* best = nullptr;
    Effect least{.slowdown = HUGE_VAL};
    for (const Level& level : threads->levels) {
      const Effect effect = found_.effect_of(level, Resource::threads);
      // Fewer threads are as good unless more are certainly faster.
      if (effect.slowdown < least.slowdown - effect.half) best = &level, least = effect;
    }
    const bool more = best != &threads->levels.back();
    const auto number = static_cast<std::uint64_t>(best->taken);
    CaptionValues values = {{"number", core::counted(number, "thread")}};
    if (least.faster()) {
      values["gain"] = fmt::format("{:.2f}", 1 / least.slowdown);
      values["more"] = more ? "more" : "";
      say("more or fewer threads", values);
      offer(*threads, std::to_string(number), least);
    } else if (more) {
      values["most"] = fmt::format("{:.0f}", threads->levels.back().taken);
      say("enough threads", values);
    } else {
      say("all threads", values);
    }
  }

  void say_given() {
    for (const Resource resource : {Resource::huge_pages, Resource::allocator, Resource::local}) {
      const Trial* const given = trial(resource);
      if (given == nullptr) continue;
      const Level& best = *std::ranges::min_element(
          given->levels, {}, [&](const Level& level) { return core::median(level.slowdowns); });
      const Effect effect = found_.effect_of(best, resource);
      if (!effect.faster()) continue;
      told_.insert(resource);
      say(std::string("given ") + name_of(resource),
          {{"setting", best.setting},
           {"gain",
            with_half(1 / effect.slowdown, effect.half / (effect.slowdown * effect.slowdown))}});
      offer(*given, best.setting, effect);
    }
  }

  // Keeps the line of the fastest setting, which follows the last sentence: no two settings were
  // measured together.
  void offer(const Trial& given, const std::string& value, const Effect& effect) {
    if (effect.slowdown >= fastest_) return;
    fastest_ = effect.slowdown;
    reason_ = std::ssize(out_) - 1;
    std::string threads = value;
    if (given.resource != Resource::threads) {  // as it was started: the level with nothing but 1
      double number = evidence_.machine.pus;
      if (const Trial* const numbers = trial(Resource::threads))
        for (const Level& level : numbers->levels)
          if (core::median(level.slowdowns) == 1) number = level.taken;
      threads = fmt::format("{:.0f}", number);
    }
    const std::pair<std::string, std::string> filled[] = {{"threads", threads}};
    line_ = filled_in(evidence_.command, filled);
    if (!given.option.empty())
      line_ =
          fmt::format("tabane run {} -- {}", fmt::format(fmt::runtime(given.option), value), line_);
  }

  // What no sentence has told yet of what was tried, so that each is in one place, and what was not
  // tried; and what else the reader has to know.
  void say_rest() {
    std::vector<std::string> effects, none, untried;
    double hidden = 0;  // what an effect may be that is not seen
    std::vector<std::pair<std::string, std::vector<std::string>>> reasons;  // with what they stop
    for (const Trial& one : evidence_.trials) {
      const std::string name = name_of(one.resource);
      const bool tried = trial(one.resource) == &one;
      const bool lost = !tried && !one.levels.empty();
      std::string reason = lost ? "it could not be taken from the command" : one.untried;
      if (!reason.empty()) {
        if (brief_ >= kNoReasons) reason = "-o DIR says why";
        auto same = std::ranges::find(reasons, reason, [](auto& each) { return each.first; });
        if (same == reasons.end()) same = reasons.insert(same, {reason, {}});
        same->second.push_back(name);
      } else if (tried && told_.insert(one.resource).second) {
        const Level& level = clearest(found_, one);
        const Effect effect = found_.effect_of(level, one.resource);
        const bool seen = effect.slower() || effect.faster();
        CaptionValues values;
        add_effect(one.resource, level, values);
        if (!effects.empty()) values["times"] = with_half(effect.slowdown, effect.half);
        if (!seen) hidden = std::max(hidden, effect.half);
        (seen ? effects : none)
            .push_back(seen && brief_ < kFewFigures
                           ? values["times"] + ' ' + sentence_of("with " + name, values)
                           : name);
      }
    }
    for (const auto& [reason, names] : reasons)
      untried.push_back(fmt::format("{} ({})", join(names), reason));
    if (!effects.empty()) say("other effects", {{"names", join(effects)}});
    if (!none.empty())
      say("without effect",
          {{"names", join(none)}, {"half", found_.noise.measured ? show_percent(hidden) : ""}});
    if (!untried.empty()) say("untried", {{"names", fmt::format("{}", fmt::join(untried, "; "))}});
    caveats_ = std::ssize(out_);
    if (found_.half_of_one() > kRestless)
      say("restless", {{"half", show_percent(found_.half_of_one())}});
    for (const std::string& note : evidence_.notes) out_.push_back("Note: " + note);
  }

  const Evidence& evidence_;
  const Explanation& found_;
  std::vector<std::string> out_;
  std::set<Resource> told_;  // by a sentence
  int brief_ = 0;
  std::string line_;
  std::ptrdiff_t reason_ = 0;   // the sentence that says what it gains
  std::ptrdiff_t caveats_ = 0;  // where they begin
  double fastest_ = 1;          // of what was given, its time relative to undisturbed runs
};

}  // namespace

// Each is also the name of its paragraph in captions.txt.
const char* name_of(Kind kind) {
  static constexpr const char* kNames[] = {
      "memory bandwidth", "memory latency", "shared cache",    "computing", "locks",
      "unequal threads",  "one thread",     "page faults",     "disks",     "a pipe",
      "network",          "sleep",          "waiting for a PU"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* name_of(Resource resource) {
  static constexpr const char* kNames[] = {
      "memory bandwidth",  "shared cache", "computing neighbours",
      "processor time",    "disk",         "files not in memory",
      "remote memory",     "threads",      "huge pages",
      "another allocator", "one NUMA node"};
  return kNames[static_cast<std::size_t>(resource)];
}

void put_into_words(const Evidence& evidence, Explanation& explanation) {
  Words words(evidence, explanation);
  explanation.full = words.all();
  explanation.sentences = words.brief();
}

}  // namespace tabane::lab::explain
