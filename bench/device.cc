// Coprocessors: their figures beside clpeak's, AES on them beside the fastest AES in OpenCL that is
// packaged (hashcat's), and whole commands beside the CPU.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "bench/aes_place.h"
#include "bench/bench.h"
#include "bench/command.h"
#include "bench/device_kernels.h"
#include "bench/peer_version.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/topology.h"
#include "tabane/device/module.h"

namespace tabane::bench {
namespace {

// ---- beside clpeak ----

// A figure that both have. clpeak's: the highest of the lines below a heading that begin with
// `line`; in units of 10^9.
struct Figure {
  const char* name;  // of ours, below device.0
  const char* heading;
  const char* line;
};

constexpr Figure kFigures[] = {
    {"peak.fma.single", "Single-precision compute", ""},
    {"peak.fma.double", "Double-precision compute", ""},
    {"peak.integer", "Integer compute (", ""},
    {"memory.read", "Global memory bandwidth", ""},
    {"transfer.to_device.pageable", "Transfer bandwidth", "enqueueWriteBuffer"},
    {"transfer.from_device.pageable", "Transfer bandwidth", "enqueueReadBuffer"},
    {"transfer.to_device.mapped", "Transfer bandwidth", "memcpy to mapped"},
    {"transfer.from_device.mapped", "Transfer bandwidth", "memcpy from mapped"}};

// Only what is compared: the rest takes as long again.
constexpr const char* kClpeak =
    "clpeak -p 0 -d 0 --compute-sp --compute-dp --compute-integer --global-bandwidth "
    "--transfer-bandwidth";

// Lines "    float16 : 21.04" below the first heading of that text; 0: there is none.
double found_by_clpeak(const std::string& output, const Figure& figure) {
  double best = 0;
  bool inside = false;
  for (std::size_t at = 0; at < output.size();) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    const std::string line = output.substr(at, end - at);
    at = end + 1;
    const std::size_t colon = line.rfind(" : "), text = line.find_first_not_of(' ');
    if (colon == std::string::npos) {
      if (line.find(figure.heading) != std::string::npos)
        inside = true;
      else if (text != std::string::npos)
        inside = false;
      continue;
    }
    if (inside && line.compare(text, std::strlen(figure.line), figure.line) == 0)
      best = std::max(best, 1e9 * std::strtod(line.c_str() + colon + 3, nullptr));
  }
  return best;
}

// Both programs in turn; what a round has found serves all questions.
class Rounds {
 public:
  explicit Rounds(const Settings& settings)
      : settings_(settings), folder_("tabane-bench", settings.directory) {}

  double ours(std::size_t round, const Figure& figure) {
    make(round);
    const lab::Result* result = surveys_[round].find(std::string("device.0.") + figure.name);
    if (result == nullptr || !result->value)
      throw core::Error(std::string("the survey has no device.0.") + figure.name);
    return *result->value;
  }
  double clpeak(std::size_t round, const Figure& figure) {
    make(round);
    const double found = found_by_clpeak(outputs_[round], figure);
    if (found == 0) throw core::Error(std::string("clpeak has no ") + figure.heading);
    return found;
  }

 private:
  void make(std::size_t round) {
    while (surveys_.size() <= round) {
      const fs::path record = folder_.path() / "survey.json", output = folder_.path() / "clpeak";
      run_command({settings_.program, "survey", "--only", "device", "--quick", "-q",
                   "--json=" + record.string()});
      surveys_.push_back(lab::record_from_json(lab::Json::parse(core::read_file(record))));
      run_command({"sh", "-c", fmt::format("{} > '{}'", kClpeak, output.string())});
      outputs_.push_back(core::read_file(output));
    }
  }

  const Settings& settings_;
  const core::ScratchFolder folder_;
  std::vector<lab::Record> surveys_;
  std::vector<std::string> outputs_;
};

// Rates that were measured elsewhere, one a round: the time of a unit.
Entrant told(std::string name, const std::function<double(std::size_t round)>& rate) {
  return {
      .name = std::move(name),
      .work = {},
      .amount = 1,
      .target = 0.95,
      .timed = [rate, round = std::size_t{0}](std::uint64_t) mutable { return 1 / rate(round++); }};
}

void ask_beside_clpeak(Panel& panel) {
  Rounds rounds(panel.settings());
  for (const Figure& figure : kFigures) {
    const std::string name = std::string("device figures, ") + figure.name;
    if (!panel.wants(name)) continue;
    const bool rate = std::string_view(figure.name).starts_with("peak");
    Question question{name, rate ? "op/s" : "B/s", {}, {}};
    question.ours = told("tabane survey", [&](std::size_t i) { return rounds.ours(i, figure); });
    question.peers = {told("clpeak", [&](std::size_t i) { return rounds.clpeak(i, figure); })};
    question.peers[0].how = started_as({kClpeak}, version_said_by("clpeak --version"));
    if (!in_path("clpeak")) question.peers[0].missing = "clpeak is not installed";
    question.measure = long_runs(panel.settings(), 6, 1);
    question.measure->min_epochs = question.measure->max_epochs = panel.settings().quick ? 6 : 9;
    question.measure->warmup_epochs = 0;
    panel.ask(question);
  }
}

// ---- whole commands ----

void ask_about_commands(Panel& panel) {
  const std::string name = "4096 files of 64 KiB by the coprocessor, encrypt";
  if (!panel.wants(name)) return;
  std::vector<unsigned> pus;
  const core::Topology topology = core::Topology::detect();
  for (const core::Pu& pu : topology.pus()) pus.push_back(pu.os_index);
  core::PinnedPool pool(pus);
  Usage total;
  Place place(panel.settings(), pool, total);
  place.fill(16, 256, std::uint64_t{64} << 10);
  for (const CipherKind& kind : all_ciphers()) {
    if (kind.name == "aes-256-cbc") continue;
    place.seal_once(kind);
    Question question{name + " " + kind.name,
                      "B/s",
                      place.tabane(kind, Direction::encrypt, {"--engine", "opencl"}),
                      {}};
    question.peers = {place.tabane(kind, Direction::encrypt, {"--engine", "auto"})};
    question.peers[0].name = fmt::format("the CPU, {} PUs", pus.size());
    question.peers[0].target = 0;  // reported
    question.measure = whole_commands(panel.settings());
    panel.ask(question);
  }
}

}  // namespace

void ask_device(Panel& panel) {
  const device::Devices& all = device::devices();
  if (all.list.empty()) {
    Question question{"coprocessors", "B/s", {}, {}};
    question.peers.push_back({.name = "all", .target = 0, .missing = all.reason});
    panel.ask(question);
    return;
  }
  ask_device_kernels(panel);
  ask_beside_clpeak(panel);
  ask_about_commands(panel);
}

}  // namespace tabane::bench
