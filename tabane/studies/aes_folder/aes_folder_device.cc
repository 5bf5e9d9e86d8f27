// The coprocessor and the CPU: measured in turn, and what their times say.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tabane/core/error.h"
#include "tabane/core/statistics.h"
#include "tabane/core/threads.h"
#include "tabane/core/units.h"
#include "tabane/crypto/device_aes.h"
#include "tabane/crypto/secret.h"
#include "tabane/device/module.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/study.h"
#include "tabane/studies/aes_folder/aes_folder.h"

namespace tabane::lab::aes_folder {
namespace {

using crypto::Block;
using crypto::ChainPiece;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kKi = 1024, kMi = 1024 * 1024;

std::vector<Chains> plan(std::vector<std::uint64_t> lengths, std::uint64_t most_bytes) {
  constexpr std::uint64_t kBlock = crypto::kBlockBytes;
  if (lengths.empty()) lengths = {4 * kKi, 64 * kKi, kMi};
  std::vector<Chains> works = {{1, kBlock}};
  for (const std::uint64_t length : lengths) {
    const std::uint64_t bytes = (length + kBlock - 1) / kBlock * kBlock;
    if (bytes <= kBlock) continue;
    for (std::uint64_t count = 1; count <= 4096 && count * bytes <= most_bytes; count *= 4) {
      works.push_back({count, bytes});
    }
  }
  return works;
}

}  // namespace

std::string Chains::label() const {
  return fmt::format("{} x {}", count, core::format_bytes(bytes));
}

Factors Chains::point(const char* who) const {
  return {{"chains_by", who}, {"chains", count}, {"chain_bytes", bytes}};
}

struct DeviceBench::State {
  std::vector<Chains> works;
  std::string about;
  bool is_cpu = false;
  std::unique_ptr<crypto::DeviceAes> aes;
  std::unique_ptr<crypto::DeviceSlot> slot;
  core::PinnedPool pool;
  std::vector<std::unique_ptr<crypto::CbcCipher>> ciphers;  // one of each thread
  Block iv{};
  std::vector<Block> ivs;
  std::vector<ChainPiece> pieces;

  explicit State(const std::vector<unsigned>& pus) : pool(pus) {}

  // The positions of the chains, with their initialisation vectors as at the start.
  std::span<const ChainPiece> place(const Chains& chains) {
    pieces.clear();
    ivs.assign(chains.count, iv);
    for (std::size_t i = 0; i < chains.count; ++i) {
      const std::size_t at = i * chains.bytes;
      pieces.push_back({slot->in().data() + at, slot->out().data() + at, chains.bytes, &ivs[i]});
    }
    return pieces;
  }

  void run_cpu(std::span<const ChainPiece> all) {
    const std::size_t threads = pool.size();
    pool.run([&](std::size_t i) {
      const std::size_t begin = all.size() * i / threads, end = all.size() * (i + 1) / threads;
      ciphers[i]->encrypt(all.subspan(begin, end - begin));
    });
  }
};

DeviceBench::DeviceBench(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceBench::~DeviceBench() = default;

std::unique_ptr<DeviceBench> DeviceBench::open(const FolderKey& key,
                                               const std::vector<unsigned>& pus,
                                               const std::vector<std::uint64_t>& lengths,
                                               bool quick, std::string& why) {
  const device::Devices& all = device::devices();
  if (all.list.empty()) {
    why = all.reason;
    return nullptr;
  }
  try {
    const std::size_t index = device::choose_device(all, "");
    auto state = std::make_unique<State>(pus);
    state->about = device::text_of(all.list[index]);
    state->is_cpu = all.list[index].kind == device::Kind::cpu;
    const std::uint64_t most = (state->is_cpu ? 64 : 256) * kMi / (quick ? 4 : 1);
    state->works = plan(lengths, most);
    state->aes = std::make_unique<crypto::DeviceAes>(device::open_device(index), 1);
    state->slot = std::make_unique<crypto::DeviceSlot>(*state->aes, most);
    state->slot->set_key(key.key);
    std::ranges::copy(key.iv, state->iv.begin());
    crypto::fill_random(state->slot->in());
    for (std::size_t i = 0; i < state->pool.size(); ++i)
      state->ciphers.push_back(std::make_unique<crypto::CbcCipher>(key.key));
    return std::unique_ptr<DeviceBench>(new DeviceBench(std::move(state)));
  } catch (const core::Error& error) {
    why = error.what();
    return nullptr;
  }
}

const std::string& DeviceBench::about() const { return state_->about; }
bool DeviceBench::is_cpu() const { return state_->is_cpu; }
const std::vector<Chains>& DeviceBench::works() const { return state_->works; }

std::vector<Contender> DeviceBench::contenders(const Chains& chains) {
  State* const state = state_.get();
  const auto by_device = [state, chains] {
    const auto steps = state->slot->encrypt_step_by_step(state->place(chains));
    return Sample{.seconds = steps.to_device_s + steps.kernel_s + steps.from_device_s,
                  .beside = {{kToDevice, steps.to_device_s},
                             {kKernel, steps.kernel_s},
                             {kFromDevice, steps.from_device_s}}};
  };
  const auto by_cpu = [state, chains] {
    const auto pieces = state->place(chains);
    const auto begin = Clock::now();
    state->run_cpu(pieces);
    return Sample{.seconds = std::chrono::duration<double>(Clock::now() - begin).count()};
  };
  return {{chains.point("device"), by_device}, {chains.point("cpu"), by_cpu}};
}

void DeviceBench::check(const Chains& chains) {
  const auto out = state_->slot->out().first(chains.count * chains.bytes);
  state_->slot->encrypt_step_by_step(state_->place(chains));
  const std::vector<std::byte> by_device(out.begin(), out.end());
  std::ranges::fill(out, std::byte{0});
  state_->run_cpu(state_->place(chains));
  if (!std::ranges::equal(by_device, out))
    throw core::VerificationError(chains.label() + ": the coprocessor's cipher text", 1, 0);
}

// ---- what is shown ----

namespace {

constexpr std::uint64_t kBlock = 16;  // bytes; of the launch with hardly any work

struct DeviceData {
  const Points& points;

  const Point* find(const Chains& chains, const char* who) const {
    const Point* point = points.find(chains.point(who));
    return point != nullptr && !point->samples.empty() ? point : nullptr;
  }
  // The median of what was seen with the device's times; NaN: it was not measured.
  double seen(const Chains& chains, const char* name) const {
    const Point* point = find(chains, "device");
    return point == nullptr ? std::nan("") : median_beside(*point, name).value_or(std::nan(""));
  }
  std::vector<Chains> works() const {
    std::vector<Chains> found;
    for (const Factors& factors :
         combinations(points, {"chain_bytes", "chains"}, {{"chains_by", "device"}})) {
      const Chains chains{static_cast<std::uint64_t>(factors.find("chains")->number()),
                          static_cast<std::uint64_t>(factors.find("chain_bytes")->number())};
      if (ratio_in_turn(find(chains, "cpu"), find(chains, "device"))) found.push_back(chains);
    }
    return found;
  }
};

std::vector<Chains> of_length(const std::vector<Chains>& works, std::uint64_t bytes) {
  std::vector<Chains> found;
  std::ranges::copy_if(works, std::back_inserter(found),
                       [&](const Chains& chains) { return chains.bytes == bytes; });
  return found;
}

std::vector<std::uint64_t> lengths(const std::vector<Chains>& works) {
  std::vector<std::uint64_t> found;
  for (const Chains& chains : works)
    if (chains.bytes > kBlock && std::ranges::find(found, chains.bytes) == found.end())
      found.push_back(chains.bytes);
  return found;
}

std::string size_text(std::uint64_t bytes) { return show(static_cast<double>(bytes), "B"); }

// A part of the device's time, never below 0: the parts are of runs of their own.
Entry share(double part, double whole) { return {std::max(0.0, part / whole), "share"}; }

void where_time_goes(Record& record, const DeviceData& data, const std::string& about) {
  const std::vector<Chains> works = data.works();
  const double launch = data.seen({1, kBlock}, kKernel);
  const Rows rows =
      rows_of({"chains", "coprocessor", "to it", "launch", "waiting in the chain", "more chains",
               "from it", "CPU, all PUs", "CPU / coprocessor"},
              works, [&](const Chains& chains) -> std::vector<Entry> {
                if (chains.bytes == kBlock) return {};
                const Point *device = data.find(chains, "device"), *cpu = data.find(chains, "cpu");
                const double whole = device->median(), kernel = data.seen(chains, kKernel);
                const double alone = data.seen({1, chains.bytes}, kKernel);
                return {chains.label(),
                        median_entry(device),
                        share(data.seen(chains, kToDevice), whole),
                        share(launch, whole),
                        share(alone - launch, whole),
                        share(kernel - alone, whole),
                        share(data.seen(chains, kFromDevice), whole),
                        median_entry(cpu),
                        ratio_entry(cpu, device)};
              });
  add_table(record, "Where the coprocessor's time goes", rows,
            fmt::format("{}. AES-128-CBC of chains in memory, one in each work item. A chain is "
                        "serial: waiting in it is what one alone takes, and no number of units "
                        "shortens it. More chains cost nothing until the units are busy; then "
                        "they, their local memory and the device's memory are what is shared.",
                        about));
}

// The best that the device reaches.
struct Best {
  core::Ratio ratio;  // CPU / device
  Chains chains;
};

struct Answer {
  std::vector<std::string> crossings;  // "from 800 chains of 64 KiB on"
  Best best;
};

// With transfers, in turn.
core::Ratio speed(const DeviceData& data, const Chains& chains) {
  return *ratio_in_turn(data.find(chains, "cpu"), data.find(chains, "device"));
}

Curve with_transfers(const DeviceData& data, const std::vector<Chains>& works) {
  Curve curve{.name = size_text(works.front().bytes), .x = {}, .y = {}};
  for (const Chains& chains : works) {
    const core::Ratio ratio = speed(data, chains);
    add_place(curve, static_cast<double>(chains.count), ratio.value, ratio.interval);
  }
  return curve;
}

Curve without_transfers(const DeviceData& data, const std::vector<Chains>& works) {
  Curve curve{.name = size_text(works.front().bytes) + ", no transfers", .x = {}, .y = {}};
  for (const Chains& chains : works) {
    add_place(curve, static_cast<double>(chains.count),
              data.find(chains, "cpu")->median() / data.seen(chains, kKernel), {});
  }
  return curve;
}

// Adds the crossing of one length to the answer, and a mark.
void look_for_crossing(const DeviceData& data, const std::vector<Chains>& works, Curves& curves,
                       Answer& answer) {
  std::vector<double> counts, ratios;
  for (const Chains& chains : works) {
    counts.push_back(static_cast<double>(chains.count));
    const core::Ratio ratio = speed(data, chains);
    ratios.push_back(ratio.value);
    if (ratio.value > answer.best.ratio.value) answer.best = {ratio, chains};
  }
  const auto at = crossover(counts, std::vector<double>(ratios.size(), 1), ratios);
  if (!at) return;
  const std::string size = size_text(works.front().bytes);
  answer.crossings.push_back(fmt::format("from {:.0f} of {} on", *at, size));
  curves.marks.push_back({*at, size});
}

std::string text_of(const Answer& answer) {
  constexpr const char* kOnlyAsked =
      "tabane encrypt takes it only where --engine opencl asks for it.";
  const std::string best = fmt::format("with {}, it is {:.3g} times as fast",
                                       answer.best.chains.label(), answer.best.ratio.value);
  if (!answer.crossings.empty())
    return fmt::format(
        "On this machine the coprocessor beats the CPU on chains in memory {}; at its best, {}. {}",
        join(answer.crossings), best, kOnlyAsked);
  if (answer.best.ratio.value <= 1)
    return fmt::format("On this machine the coprocessor never wins: at its best, {} as the CPU. {}",
                       best, kOnlyAsked);
  const core::Interval& interval = answer.best.ratio.interval;
  return fmt::format(
      "On this machine there is no number of chains from which on the coprocessor beats the CPU; "
      "but at its best, {} [{:.3g}, {:.3g}]. {}",
      best, interval.low, interval.high, kOnlyAsked);
}

// "2.4 to 5.8": how many times as long the report's coprocessor took as its host.
std::string published_range() {
  const Record &host = published("aes-folder-xeon"), &phi = published("aes-folder-phi");
  double least = INFINITY, most = 0;
  for (const Result& result : phi.results) {
    const Result* beside = host.find(result.name);
    if (!result.name.starts_with("aes_folder.best.") || beside == nullptr) continue;
    if (!result.value || !beside->value) continue;
    least = std::min(least, *result.value / *beside->value);
    most = std::max(most, *result.value / *beside->value);
  }
  return fmt::format("{:.2g} to {:.2g}", least, most);
}

Answer chart(Record& record, const DeviceData& data, const std::string& about) {
  const std::vector<Chains> works = data.works();
  Curves curves{{"chains", "", true}, {"CPU time / device time", "", true}, {}};
  Answer answer;
  for (const std::uint64_t bytes : lengths(works)) {
    const std::vector<Chains> mine = of_length(works, bytes);
    add_curve(curves, with_transfers(data, mine));
    add_curve(curves, without_transfers(data, mine));
    look_for_crossing(data, mine, curves, answer);
  }
  curves.marks.push_back({.at = 1, .label = "as fast", .vertical = false});
  add_chart(record, "device", "How many chains it takes to beat the CPU",
            fmt::format("{} Above the line the coprocessor ({}) is faster than all PUs together. "
                        "The report's Xeon Phi took {} times as long as its host.",
                        text_of(answer), about, published_range()),
            std::move(curves));
  return answer;
}

}  // namespace

std::optional<double> crossover(const std::vector<double>& counts, const std::vector<double>& a,
                                const std::vector<double>& b) {
  // The last place where a is above b; all behind it count.
  std::size_t from = counts.size();
  while (from > 0 && a[from - 1] <= b[from - 1]) --from;
  if (from == counts.size()) return std::nullopt;
  if (from == 0) return counts.front();
  const double before = std::log(a[from - 1] / b[from - 1]), after = std::log(a[from] / b[from]);
  const double part = before / (before - after);
  return counts[from - 1] * std::pow(counts[from] / counts[from - 1], part);
}

void add_device_views(Record& record, const Points& points, const std::string& about) {
  const DeviceData data{points};
  if (about.empty() || points.size() == 0 || data.works().empty()) return;
  where_time_goes(record, data, about);
  const Answer answer = chart(record, data, about);
  record.sentences.push_back(text_of(answer));
}

}  // namespace tabane::lab::aes_folder
