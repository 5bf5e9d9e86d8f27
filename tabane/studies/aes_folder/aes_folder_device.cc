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
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/study.h"
#include "tabane/studies/aes_folder/aes_folder.h"

namespace tabane::lab::aes_folder {

Factors chain_factors(const char* who, const Folder& chains) {
  return {{"chains_by", who}, {"chains", chains.files}, {"chain_bytes", chains.bytes}};
}

namespace {

using crypto::Block;
using crypto::ChainPiece;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kKi = 1024, kMi = 1024 * 1024;
constexpr std::uint64_t kBlock = crypto::kBlockBytes;  // of the launch with hardly any work

std::vector<Folder> plan(std::vector<std::uint64_t> lengths, std::uint64_t most_bytes) {
  if (lengths.empty()) lengths = {4 * kKi, 64 * kKi, kMi};
  std::vector<Folder> works = {{1, kBlock}};
  for (const std::uint64_t length : lengths) {
    const std::uint64_t bytes = (length + kBlock - 1) / kBlock * kBlock;
    if (bytes <= kBlock) continue;
    for (std::uint64_t count = 1; count <= 4096 && count * bytes <= most_bytes; count *= 4)
      works.push_back({count, bytes});
  }
  return works;
}

// A device and the CPU with the same key and chains.
class BothCiphers {
 public:
  BothCiphers(const FolderKey& key, const std::vector<unsigned>& pus, std::size_t device,
              std::uint64_t most_bytes)
      : aes_(device::open_device(device), 1), slot_(aes_, most_bytes), pool_(pus) {
    slot_.set_key(key.key);
    std::ranges::copy(key.iv, iv_.begin());
    crypto::fill_random(slot_.in());
    for (std::size_t i = 0; i < pool_.size(); ++i)
      ciphers_.push_back(std::make_unique<crypto::CbcCipher>(key.key));
  }

  Sample by_device(const Folder& chains) {
    crypto::DeviceSlot::Steps steps;
    slot_.encrypt(place(chains), &steps);
    return {.seconds = steps.to_device_s + steps.kernel_s + steps.from_device_s,
            .beside = {{kToDevice, steps.to_device_s},
                       {kKernel, steps.kernel_s},
                       {kFromDevice, steps.from_device_s}}};
  }

  Sample by_cpu(const Folder& chains) {
    const std::span<const ChainPiece> all = place(chains);
    const auto begin = Clock::now();
    pool_.run([&](std::size_t i) {
      const std::size_t from = all.size() * i / pool_.size();
      const std::size_t to = all.size() * (i + 1) / pool_.size();
      ciphers_[i]->encrypt(all.subspan(from, to - from));
    });
    return {.seconds = std::chrono::duration<double>(Clock::now() - begin).count()};
  }

  // throws: core::VerificationError if the two do not give the same bytes.
  void check(const Folder& chains) {
    const auto out = slot_.out().first(chains.files * chains.bytes);
    by_device(chains);
    const std::vector<std::byte> from_device(out.begin(), out.end());
    std::ranges::fill(out, std::byte{0});
    by_cpu(chains);
    if (!std::ranges::equal(from_device, out))
      throw core::VerificationError(chains.label() + ": the coprocessor's cipher text", 1, 0);
  }

 private:
  // The positions of the chains, with their initialisation vectors as at the start.
  std::span<const ChainPiece> place(const Folder& chains) {
    pieces_.clear();
    ivs_.assign(chains.files, iv_);
    for (std::size_t i = 0; i < chains.files; ++i) {
      const std::size_t at = i * chains.bytes;
      pieces_.push_back({slot_.in().data() + at, slot_.out().data() + at, chains.bytes, &ivs_[i]});
    }
    return pieces_;
  }

  crypto::DeviceAes aes_;
  crypto::DeviceSlot slot_;
  core::PinnedPool pool_;
  std::vector<std::unique_ptr<crypto::CbcCipher>> ciphers_;  // one of each thread
  Block iv_{};
  std::vector<Block> ivs_;
  std::vector<ChainPiece> pieces_;
};

}  // namespace

std::optional<DeviceBench> open_device_bench(const FolderKey& key, const std::vector<unsigned>& pus,
                                             const std::vector<std::uint64_t>& lengths, bool quick,
                                             std::string& why) {
  const device::Devices& all = device::devices();
  if (all.list.empty()) {
    why = all.reason;
    return std::nullopt;
  }
  try {
    const std::size_t index = device::choose_device(all, "");
    DeviceBench bench{.about = device::text_of(all.list[index]),
                      .is_cpu = all.list[index].kind == device::Kind::cpu};
    const std::uint64_t most = (bench.is_cpu ? 64 : 256) * kMi / (quick ? 4 : 1);
    const auto both = std::make_shared<BothCiphers>(key, pus, index, most);
    const std::vector<Folder> works = plan(lengths, most);
    for (const Folder& chains : works) {
      bench.contenders.push_back(
          {chain_factors("device", chains), [=] { return both->by_device(chains); }});
      bench.contenders.push_back(
          {chain_factors("cpu", chains), [=] { return both->by_cpu(chains); }});
    }
    bench.check = [both, chains = works.back()] { both->check(chains); };
    return bench;
  } catch (const core::Error& error) {
    why = error.what();
    return std::nullopt;
  }
}

// ---- what is shown: of the device's points, small chains first ----

namespace {

const Factors kDevice{{"chains_by", "device"}}, kCpu{{"chains_by", "cpu"}};

std::vector<Factors> rows_of_chains(const Points& points) {
  std::vector<Factors> rows = combinations(points, {"chain_bytes", "chains"}, kDevice);
  std::erase_if(rows, [&](const Factors& row) {
    return row.number("chain_bytes") == kBlock ||
           !ratio_in_turn(points.find(row.with(kCpu)), points.find(row));
  });
  return rows;
}

std::string label_of(const Factors& row) {
  return fmt::format("{:.0f} x {}", row.number("chains"), show(row.number("chain_bytes"), "B"));
}

// The median of what was seen with the device's times; NaN: it was not measured.
double seen(const Points& points, const Factors& row, const char* name) {
  const Point* point = points.find(row);
  return point == nullptr ? std::nan("") : median_beside(*point, name).value_or(std::nan(""));
}

// Parts of the device's time, each of runs of its own: so none is shown as less than nothing.
constexpr const char* kParts[] = {"to it", "launch", "waiting in the chain", "more chains",
                                  "from it"};
std::array<double, std::size(kParts)> seconds_of_parts(const Points& points, const Factors& row) {
  const double launch = seen(points, chain_factors("device", {1, kBlock}), kKernel),
               alone = seen(points, row.with({{"chains", 1}}), kKernel);
  return {seen(points, row, kToDevice), launch, alone - launch, seen(points, row, kKernel) - alone,
          seen(points, row, kFromDevice)};
}

void where_time_goes(const StudyViews& views, const std::vector<Factors>& rows) {
  std::vector<Column> columns = {
      {"chains", [](const Points&, const Factors& row) { return Entry(label_of(row)); }},
      {"coprocessor", time_of()}};
  for (std::size_t i = 0; i < std::size(kParts); ++i)
    columns.push_back({kParts[i], [i](const Points& points, const Factors& row) {
                         const double whole = points.find(row)->median();
                         return Entry(std::max(0.0, seconds_of_parts(points, row)[i] / whole),
                                      "share");
                       }});
  columns.insert(columns.end(),
                 {{"CPU, all PUs", time_of(kCpu)}, {"CPU / coprocessor", ratio_of(kCpu, {})}});
  views.table("device.table", columns, rows);
}

// What the device reaches: where it crosses the CPU, and at its best.
struct DeviceAnswer {
  std::vector<std::string> crossings;  // "from 800 of 64 KiB on"
  core::Ratio best;                    // CPU / device
  Factors best_chains = {};
};

// Adds the curves of one length, with transfers and without, and a mark where the first crosses.
void add_length(const Points& points, const std::vector<Factors>& rows, Curves& curves,
                DeviceAnswer& answer) {
  const std::string size = show(rows.front().number("chain_bytes"), "B");
  Curve with_transfers = curve_of(size, ratio_of(kCpu, {}), points, rows, "chains"),
        without{.name = size + ", no transfers"};
  for (const Factors& row : rows) {
    const Point* cpu = points.find(row.with(kCpu));
    add_place(without, row.number("chains"), cpu->median() / seen(points, row, kKernel), {});
    const core::Ratio ratio = *ratio_in_turn(cpu, points.find(row));
    if (ratio.value > answer.best.value) answer.best = ratio, answer.best_chains = row;
  }
  const std::vector<double> even(rows.size(), 1);
  if (const auto at = crossover(with_transfers.x, even, with_transfers.y)) {
    answer.crossings.push_back(fmt::format("from {:.0f} of {} on", *at, size));
    curves.marks.push_back({*at, size});
  }
  add_curve(curves, std::move(with_transfers));
  add_curve(curves, std::move(without));
}

std::string sentence_of(const StudyViews& views, const DeviceAnswer& answer) {
  const core::Interval& interval = answer.best.interval;
  const char* const kind = !answer.crossings.empty() ? "answer.wins"
                           : answer.best.value <= 1  ? "answer.never"
                                                     : "answer.once";
  return views
      .caption(kind, {{"crossings", join(answer.crossings)},
                      {"best", fmt::format("with {}, it is {:.3g} times as fast",
                                           label_of(answer.best_chains), answer.best.value)},
                      {"interval", fmt::format("[{:.3g}, {:.3g}]", interval.low, interval.high)}})
      .note;
}

// "2.4 to 5.8": how many times as long the report's coprocessor took as its host.
std::string published_range() {
  const auto [host, phi] = reports();
  std::vector<double> times;
  for (const Result& result : phi->results) {
    const Result* beside = host->find(result.name);
    if (result.name.starts_with("aes_folder.best.") && beside != nullptr && result.value &&
        beside->value)
      times.push_back(*result.value / *beside->value);
  }
  return fmt::format("{:.2g} to {:.2g}", std::ranges::min(times), std::ranges::max(times));
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
  if (about.empty() || points.size() == 0) return;
  const std::vector<Factors> rows = rows_of_chains(points);
  if (rows.empty()) return;
  const StudyViews views{
      record, points, *reports()[0], {{"about", about}, {"range", published_range()}}};
  where_time_goes(views, rows);
  Curves curves{{"chains", "", true}, {"CPU time / device time", "", true}, {}};
  DeviceAnswer answer;
  for (const double bytes : points.numbers("chain_bytes", kDevice)) {
    const auto of_length = only(rows, "chain_bytes", [=](double one) { return one == bytes; });
    if (!of_length.empty()) add_length(points, of_length, curves, answer);
  }
  curves.marks.push_back({.at = 1, .label = "as fast", .vertical = false});
  const std::string sentence = sentence_of(views, answer);
  views.chart("device", std::move(curves), {{"answer", sentence}});
  record.sentences.push_back(sentence);
}

}  // namespace tabane::lab::aes_folder
