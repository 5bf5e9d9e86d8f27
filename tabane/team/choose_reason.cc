#include "tabane/team/choose_reason.h"

#include <algorithm>
#include <cmath>

#include "tabane/core/units.h"

namespace tabane::team {
namespace {

// A loss of this share is worth a word.
constexpr double kNoticed = 0.05;

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

std::string share_lost(const ScalabilityLaw& law, int threads) {
  return std::to_string(threads) + " threads of one process lose " +
         percent(1 - law.efficiency(threads));
}

// As few threads as show it.
int telling_threads(const ScalabilityLaw& law, int most) {
  for (int threads = 2; threads < most; threads *= 2) {
    if (1 - law.efficiency(threads) > 0.25) return threads;
  }
  return std::max(2, most);
}

std::string one_process(const Choice& choice, const ReasonFacts& facts) {
  const auto other = std::find_if(choice.alternatives.begin(), choice.alternatives.end(),
                                  [](const Prediction& p) { return p.shape.processes > 1; });
  const std::string text = "one process is best: ";
  if (other != choice.alternatives.end()) {
    const std::string of = " of " + core::format_seconds(other->seconds);
    const double forks = facts.start.seconds(other->shape);
    if (forks > facts.results && forks > kNoticed * other->seconds) {
      return text + "forks would cost " + core::format_seconds(forks) + of;
    }
    if (facts.results > kNoticed * other->seconds) {
      return text + "returning results from others would cost " +
             core::format_seconds(facts.results) + of;
    }
  }
  return text + (choice.shape.threads > 1
                     ? "its " + share_lost(choice.in_process, choice.shape.threads)
                     : "more would gain nothing");
}

std::string too_little(double work) {
  return "too little work for more than one worker: all of it takes " + core::format_seconds(work);
}

std::string text_of(Shape shape) {
  return std::to_string(shape.processes) + " × " + std::to_string(shape.threads);
}

std::string why(const Choice& choice, const ReasonFacts& facts) {
  const Shape shape = choice.shape;
  if (shape == Shape{}) return too_little(facts.work);
  if (shape.processes == 1) return one_process(choice, facts);
  const int threads = telling_threads(choice.in_process, facts.threads);
  const std::string size = text_of(shape);
  const std::string forks = "forks cost " + core::format_seconds(choice.fork_seconds) + " of " +
                            core::format_seconds(choice.alternatives.front().seconds);
  if (1 - choice.in_process.efficiency(threads) < kNoticed) {
    return "the processes share least: " + size + ", " + forks;
  }
  return "threads slow each other: " + share_lost(choice.in_process, threads) + "; " + size + ", " +
         forks;
}

}  // namespace

std::string reason_for(const Choice& choice, const ReasonFacts& facts) {
  const char* const unknown =
      ". How long it will take is not known: others use the machine, or equal runs of the sample "
      "differed too much";
  return why(choice, facts) + (choice.predicted ? "" : unknown);
}

std::string reason_for_few(std::size_t tasks) {
  return "no more tasks than PUs, so there is nothing to choose: a thread for each of " +
         std::to_string(tasks) + ", because threads cost least to start";
}

std::string reason_for_begun(const Choice& choice, double seconds, bool waiting) {
  const std::string unknown = "; how long it will take here is not known";
  if (waiting) {
    return "the tasks wait for something else than a PU: " + std::to_string(choice.shape.threads) +
           " threads of one process" + unknown;
  }
  return "too little work for a sample: all of it takes " + core::format_seconds(seconds) +
         " with " + std::to_string(choice.shape.threads) +
         " threads of one process, which began it" + unknown;
}

std::string reason_for_other(const Choice& chosen, Shape shape, bool is_given) {
  return text_of(shape) +
         (is_given ? ", because a number is given" : ", because few tasks are left") +
         "; the choice would be " + text_of(chosen.shape) + ": " + chosen.reason;
}

std::string reason_without_sample(const Choice& choice, double work) {
  if (choice.shape == Shape{}) return too_little(work);
  return "too little work for a sample: all of it takes " + core::format_seconds(work) +
         " on one worker; how long it will take here is not known";
}

}  // namespace tabane::team
