// The answer of `tabane explain` in words, which are in captions.txt.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "tabane/core/units.h"
#include "tabane/lab/commands/child.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/captions.h"
#include "tabane/program/layout.h"
#include "tabane/tools/explain/conclude.h"

namespace tabane::lab::explain {
namespace {

constexpr std::size_t kMostLines = 12;
constexpr double kRestless = 0.2;  // half an interval of one run, from which on it is said

std::string times(const Effect& effect) {
  return fmt::format("{:.2f} ± {:.2f} times as long", effect.slowdown, effect.half);
}

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

  std::vector<std::string> sentences(std::size_t columns) {
    for (const Cause& cause : found_.causes) say_cause(cause);
    if (found_.causes.empty()) say(waits_unseen() ? "too few looks" : "nothing");
    const std::size_t findings = out_.size();
    say_given();
    say_threads();
    say_memory();
    const std::size_t at_line = out_.size();
    if (!line_.empty()) out_.push_back("    " + line_);
    say_untouched(columns);
    // There is room for the main cause first, then for the line and its reason, then for other
    // causes, for what follows the line, and for the rest.
    std::size_t lines = 0;
    std::vector<bool> kept(out_.size());
    const auto admit = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t more = lines_of(out_[i], columns);
        if (kept[i] || (i > 0 && lines + more > kMostLines)) continue;
        kept[i] = true;
        lines += more;
      }
    };
    admit(0, 1);
    if (!line_.empty()) admit(at_line, at_line + 1), admit(reason_, reason_ + 1);
    admit(0, findings);
    admit(at_line, out_.size());
    admit(findings, at_line);
    for (std::size_t i = 0; i < out_.size(); ++i)
      if (!kept[i]) out_[i].clear();
    std::erase(out_, "");
    return std::move(out_);
  }
  const std::string& line() const { return line_; }

 private:
  void say(std::string_view name, const CaptionValues& values = {}) {
    out_.push_back(sentence_of(name, values));
  }
  const Trial* trial(Resource resource) const { return find_trial(evidence_, resource); }

  static std::size_t lines_of(const std::string& sentence, std::size_t columns) {
    const std::string text = program::wrap_text(sentence, columns);
    return 1 + static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }

  // All runs together may show a cause where no single level does.
  bool is_cause(Resource resource) const {
    return std::ranges::any_of(found_.causes, [&](const Cause& cause) {
      return resource == Resource::cache
                 ? cause.kind == Kind::cache
                 : resource == Resource::bandwidth && cause.kind <= Kind::latency;
    });
  }

  bool waits_unseen() const {
    const Observed& seen = evidence_.observed;
    return !seen.seconds.empty() && seen.user + seen.system < 0.5 * core::median(seen.seconds);
  }

  void say_cause(const Cause& cause) {
    const bool first = out_.empty();
    const double gain = cause.most_gain();
    CaptionValues values = {
        {"bound", first ? "It is bound by" : "It is also bound by"},
        {"waits", first ? "It waits mostly" : "It also waits"},
        {"for", first ? "For" : "Also, for"},
        {"share", show_percent(cause.share)},
        {"half", fmt::format("{:.2f}", 1 / (1 - cause.most() / 2))},  // with half the time for it
        {"gain", gain < 20 ? fmt::format("{} {:.2f} times as fast",
                                         cause.interval ? "at most" : "about", gain)
                           : "much faster, by how much is not known"}};
    if (cause.kind == Kind::bandwidth) add_effect(Resource::bandwidth, 0.5, values);
    if (cause.kind == Kind::cache) values.merge(cache_values());
    if (cause.kind == Kind::pipe) values["waiting"] = ends_of_pipe();
    if (cause.kind == Kind::computing && first) {
      if (hides_loads())
        values["here"] = "here";
      else if (trial(Resource::cpu_time) != nullptr)
        add_effect(Resource::cpu_time, 1, values);
    }
    say(name_of(cause.kind), values);
  }

  // Adds how long it takes at the level at which about so much is taken.
  void add_effect(Resource resource, double taken, CaptionValues& values) const {
    const Level& level = nearest(*trial(resource), taken);
    values["taken"] = show_percent(level.taken);
    values["times"] = times(found_.effect_of(level));
  }

  CaptionValues cache_values() const {
    const auto& [bytes, slowdown] = *found_.working_set;
    return {{"needs", size_text(bytes.value)},
            {"low", size_text(bytes.interval.low)},
            {"high", size_text(bytes.interval.high)},
            {"slowdown", fmt::format("{:.1f}", slowdown.value)}};
  }

  // Whether no thief made loads from memory so slow that a command that waits for them shows it.
  bool hides_loads() const {
    double most = 0;
    if (const Trial* const bandwidth = trial(Resource::bandwidth))
      for (const Level& level : bandwidth->levels)
        if (!level.slowdowns.empty()) most = std::max(most, level.latency.value_or(1) - 1);
    return most < 3 * found_.half_of_one();
  }

  // Who waits for a pipe, and who works meanwhile.
  std::string ends_of_pipe() const {
    const auto& threads = evidence_.observed.threads;
    const auto waits = std::ranges::max_element(
        threads, {}, [](const ThreadSeen& each) { return each.looks(Doing::pipe); });
    const auto works = std::ranges::max_element(threads, {}, &ThreadSeen::alone);
    if (waits == works || works->alone == 0) return "it waits for";
    return fmt::format("'{}' waits for '{}' at", waits->name, works->name);
  }

  void say_memory() {
    if (found_.working_set && !std::ranges::count(found_.causes, Kind::cache, &Cause::kind)) {
      CaptionValues values = cache_values();
      values["bound"] = "It uses";
      say(name_of(Kind::cache), values);
    }
    if (found_.needs_bandwidth && found_.bandwidth->knee.value > 1)
      say("knee", {{"needs", show(*found_.needs_bandwidth, "B/s")},
                   {"all", show(*evidence_.machine.bandwidth, "B/s")}});
    for (const Resource resource :
         {Resource::units, Resource::disk, Resource::cold, Resource::remote}) {
      const Trial* const taken = trial(resource);
      const Effect effect = taken == nullptr ? Effect{} : found_.effect_of(nearest(*taken, 1));
      if (effect.slower())
        say(std::string("with ") + name_of(resource), {{"times", times(effect)}});
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
    if (best == nullptr) return;
    const bool more = best != &threads->levels.back();
    const auto number = static_cast<std::uint64_t>(best->taken);
    if (least.faster()) {
      say("more or fewer threads", {{"number", core::counted(number, "thread")},
                                    {"gain", fmt::format("{:.2f}", 1 / least.slowdown)},
                                    {"more", more ? "more" : ""}});
      offer(*threads, std::to_string(number), least);
    } else if (more) {
      say("enough threads", {{"number", core::counted(number, "thread")},
                             {"do", number == 1 ? "does" : "do"},
                             {"most", fmt::format("{:.0f}", threads->levels.back().taken)}});
    }
    if (!found_.threads || !std::isfinite(found_.threads->one_worker_seconds)) return;
    const core::ScalabilityLaw& law = found_.threads->law;
    const double most = law.coherency > 0
                            ? law.speedup(std::round(std::max(1.0, found_.threads->peak())))
                            : 1 / law.contention;
    if (law.contention > 0.01)
      say("law of threads",
          {{"gain", fmt::format("{:.1f}", most)}, {"serial", show_percent(law.contention)}});
  }

  void say_given() {
    for (const Resource resource : {Resource::huge_pages, Resource::allocator, Resource::local}) {
      const Trial* const given = trial(resource);
      if (given == nullptr) continue;
      for (const Level& level : given->levels) {
        const Effect effect = level.slowdowns.empty() ? Effect{} : found_.effect_of(level);
        if (!effect.faster()) continue;
        say(std::string("given ") + name_of(resource),
            {{"setting", level.setting},
             {"gain", fmt::format("{:.2f} ± {:.2f}", 1 / effect.slowdown,
                                  effect.half / (effect.slowdown * effect.slowdown))}});
        offer(*given, level.setting, effect);
      }
    }
  }

  // Keeps the line of the fastest setting, with the last sentence, which is about it: no two
  // settings were measured together.
  void offer(const Trial& given, const std::string& value, const Effect& effect) {
    if (effect.slowdown >= fastest_) return;
    fastest_ = effect.slowdown;
    reason_ = out_.size() - 1;
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
      } else if (tried && one.resource != Resource::threads && !is_cause(one.resource) &&
                 std::ranges::none_of(one.levels, [&](const Level& level) {
                   const bool told = tells(one.resource, level);
                   const Effect seen = told ? found_.effect_of(level) : Effect{};
                   return seen.slower() || seen.faster();
                 })) {
        none.emplace_back(name_of(one.resource));
      }
    }
    if (!none.empty()) say("without effect", {{"names", join(none)}});
    std::vector<std::string> with_reasons;
    for (const auto& [reason, names] : reasons)
      with_reasons.push_back(fmt::format("{} ({})", join(names), reason));
    const std::size_t at_untried = out_.size();
    if (!untried.empty())
      say("untried", {{"names", fmt::format("{}", fmt::join(with_reasons, "; "))}});
    if (found_.half_of_one() > kRestless)
      say("restless", {{"half", show_percent(found_.half_of_one())}});
    for (const std::string& note : evidence_.notes) out_.push_back("Note: " + note);
    std::size_t lines = 0;
    for (const std::string& sentence : out_) lines += lines_of(sentence, columns);
    if (lines > kMostLines && !untried.empty())
      out_[at_untried] = sentence_of("untried", {{"names", join(untried) + " (-o DIR says why)"}});
  }

  const Evidence& evidence_;
  const Explanation& found_;
  std::vector<std::string> out_;
  std::string line_;
  std::size_t reason_ = 0;  // the sentence that says what the line gains
  double fastest_ = 1;      // of what was given, its time relative to undisturbed runs
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
