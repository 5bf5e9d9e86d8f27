// device: what each coprocessor can do, measured in a process of its own. Drivers start threads and
// map much memory, which would slow the forks of other probes, and one that crashes ends that
// process alone.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "tabane/core/units.h"
#include "tabane/device/module.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/common.h"
#include "tabane/lab/probes/device_figures.h"
#include "tabane/team/fork.h"

namespace tabane::lab {
namespace {

constexpr std::size_t kAnswerBytes = std::size_t{1} << 20;

struct Titled {
  const char* name;  // below device.N
  const char* title;
};

constexpr std::array kTransfers = {
    Titled{"transfer.to_device.pageable", "to the device, pageable"},
    Titled{"transfer.to_device.pinned", "to the device, pinned"},
    Titled{"transfer.to_device.mapped", "to the device, mapped"},
    Titled{"transfer.from_device.pageable", "from the device, pageable"},
    Titled{"transfer.from_device.pinned", "from the device, pinned"},
    Titled{"transfer.from_device.mapped", "from the device, mapped"}};
constexpr std::array kOthers = {Titled{"launch", "launch of a kernel and its end"},
                                Titled{"memory.read", "reading its memory"},
                                Titled{"peak.fma.single", "single precision"},
                                Titled{"peak.fma.double", "double precision"},
                                Titled{"peak.integer", "32-bit integers"},
                                Titled{"overlap", "transfer hidden by computing"}};

// What the other process says: {"reason": …}, or {"devices": [{"about", "figures", …}]}. before:
// the devices as an earlier pass found them.
Json answer(double seconds, const Json& before, bool curves) {
  try {
    const device::Devices& all = device::devices();
    if (all.list.empty()) return {{"reason", all.reason}};
    Json devices = Json::array();
    for (std::size_t i = 0; i < all.list.size(); ++i) {
      const auto device = device::open_device(i);
      Json one = measure_device(*device, seconds / static_cast<double>(all.list.size()),
                                {i < before.size() ? before[i]["widths"] : Json(), curves});
      one["about"] = device::text_of(all.list[i]);
      devices.push_back(std::move(one));
    }
    return {{"devices", devices}};
  } catch (const std::exception& error) {
    return {{"reason", error.what()}};
  }
}

// Waits with a look at what the user wants. throws: Stopped; NotHere.
void wait_for(pid_t child, ProbeContext& context) {
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    try {
      context.progress(0.5);
    } catch (...) {
      kill(child, SIGKILL);
      team::wait_for(child, status);
      throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (WIFSIGNALED(status))
    throw NotHere(fmt::format("a driver ended the process by signal {}", WTERMSIG(status)));
}

// All devices. In the first pass with all types of vectors, later only with the best. In a quick
// survey only the first pass is also over size.
const Json& ask(ProbeContext& context) {
  const team::SharedBlock block(kAnswerBytes, "what a coprocessor can do");
  const double seconds = context.budget_seconds();
  Json& before = context.memory().keep<Json>("devices", [] { return Json::array(); });
  const bool curves = before.empty() || !context.quick();
  const pid_t child = team::fork_child([&block, &before, seconds, curves] {
    const std::string text = answer(seconds, before, curves).dump();
    if (text.size() >= block.size()) return 1;
    std::memcpy(block.data(), text.data(), text.size());
    return 0;
  });
  wait_for(child, context);
  const char* const text = reinterpret_cast<const char*>(block.data());
  if (*text == '\0') throw NotHere("the process that asks for coprocessors has said nothing");
  Json said = Json::parse(text);
  if (said.contains("reason")) throw NotHere(said["reason"].get<std::string>());
  return before = std::move(said["devices"]);
}

void report_figures(const Probe& probe, ProbeContext& context, const std::string& name,
                    const Json& device) {
  for (const Json& figure : device["figures"]) {
    Result result =
        probe.result(figure["samples"].get<std::vector<double>>(), {{"device", device["about"]}});
    result.name = fmt::format("{}.{}", name, figure["name"].text());
    result.what = figure["what"].text();
    result.unit = figure["unit"].text();
    result.better = figure["lower"].get<bool>() ? Better::lower : Better::higher;
    if (const std::string& how = figure["how"].text(); !how.empty()) result.details["type"] = how;
    context.report(std::move(result));
  }
}

void report_curves(ProbeContext& context, View view) {
  auto& series = std::get<Curves>(view.content).series;
  std::erase_if(series, [](const Curve& curve) { return curve.x.size() < 2; });
  if (!series.empty()) context.report(std::move(view));
}

// "to the device, pinned"; of several devices "0: to the device, pinned".
std::string transfer_title(const std::string& name, std::size_t device, std::size_t devices) {
  const auto titled = std::ranges::find(kTransfers, name, &Titled::name);
  if (titled == kTransfers.end()) return name;
  return devices > 1 ? fmt::format("{}: {}", device, titled->title) : titled->title;
}

// All devices in one chart.
void report_curves(ProbeContext& context, const Json& devices) {
  Curves reads{.x = {"bytes that are read", "B", true}, .y = {"bandwidth", "B/s", true}};
  Curves transfers{.x = {"bytes of a transfer", "B", true}, .y = {"bandwidth", "B/s", true}};
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Json& device = devices[i];
    reads.series.push_back({.name = fmt::format("device {}", i),
                            .x = device["read_bytes"].get<std::vector<double>>(),
                            .y = device["read_rates"].get<std::vector<double>>()});
    for (const Json& curve : device["transfers"])
      transfers.series.push_back({.name = transfer_title(curve["name"].text(), i, devices.size()),
                                  .x = curve["bytes"].get<std::vector<double>>(),
                                  .y = curve["rates"].get<std::vector<double>>()});
  }
  report_curves(context, {.name = "device.memory",
                          .title = "Memory bandwidth of the coprocessors over size",
                          .note = "Each point reads so many bytes again and again; where the curve "
                                  "falls, they no longer fit into the device's caches.",
                          .content = std::move(reads)});
  report_curves(context,
                {.name = "device.transfer_sizes",
                 .title = "Transfers to and from the coprocessors over size",
                 .note = "Smaller transfers may be faster where a cache holds them, and slower "
                         "where the start of each counts. The bars above are of the largest.",
                 .content = std::move(transfers)});
}

void run_device(const Probe& probe, ProbeContext& context) {
  const Json& devices = ask(context);
  for (std::size_t i = 0; i < devices.size(); ++i)
    report_figures(probe, context, fmt::format("device.{}", i), devices[i]);
  context.report({.name = "device", .title = "Coprocessors", .content = Rows()}, describe_devices);
  context.report({.name = "device.transfers",
                  .title = "Transfers to and from the coprocessors",
                  .note = "Pageable memory is what malloc gives; a driver copies it through memory "
                          "that is pinned. Mapped memory is copied by the host itself.",
                  .content = Bars()},
                 describe_device_transfers);
  report_curves(context, devices);
}

const Result* figure(const Record& record, std::size_t device, const char* name) {
  const Result* result = record.find(fmt::format("device.{}.{}", device, name));
  return result != nullptr && result->value ? result : nullptr;
}

// "NAME (PLATFORM), GPU of 132 units, 139 GiB", of each device in turn.
std::vector<std::string> devices_of(const Record& record) {
  std::vector<std::string> names;
  while (const Result* launch = figure(record, names.size(), "launch"))
    names.push_back(launch->details.at("device").text());
  return names;
}

Entry entry(const Result* result) {
  return result == nullptr ? Entry("not measured")
                           : Entry(*result->value, result->unit, result->interval);
}

// What a transfer costs in computing: how much work on each byte makes up for it.
std::string note_of(const Record& record, std::size_t device) {
  const Result* to = figure(record, device, "transfer.to_device.pinned");
  const Result* from = figure(record, device, "transfer.from_device.pinned");
  const Result* peak = figure(record, device, "peak.fma.single");
  const Result* launch = figure(record, device, "launch");
  if (to == nullptr || from == nullptr || peak == nullptr || launch == nullptr) return "";
  const double both_ways = 1 / *to->value + 1 / *from->value;  // seconds a byte
  return fmt::format(
      " There a byte that goes and comes back takes as long as {:.0f} operations in single "
      "precision, and a launch as long as moving {} both ways: work with less to do on each byte "
      "waits for the transfers.",
      both_ways * *peak->value,
      core::format_bytes(static_cast<std::uint64_t>(*launch->value / both_ways)));
}

}  // namespace

void describe_devices(View& view, const Record& record) {
  const std::vector<std::string> devices = devices_of(record);
  Rows rows{{"figure"}, {}};
  view.note = "Measured through OpenCL, each device alone, in a process of its own.";
  for (std::size_t i = 0; i < devices.size(); ++i) {
    rows.columns.push_back(fmt::format("device {}", i));
    view.note += fmt::format(" Device {} is {}.{}", i, devices[i], note_of(record, i));
  }
  const auto add = [&](const Titled& titled) {
    std::vector<Entry> row = {titled.title};
    for (std::size_t i = 0; i < devices.size(); ++i)
      row.push_back(entry(figure(record, i, titled.name)));
    rows.rows.push_back(std::move(row));
  };
  std::ranges::for_each(kTransfers, add);
  std::ranges::for_each(kOthers, add);
  view.content = std::move(rows);
}

void describe_device_transfers(View& view, const Record& record) {
  const std::size_t devices = devices_of(record).size();
  Bars bars{.unit = "B/s", .bars = {}, .clustered = true};
  for (std::size_t i = 0; i < devices; ++i) {
    for (const Titled& titled : kTransfers) {
      const Result* result = figure(record, i, titled.name);
      if (result == nullptr) continue;
      const std::string_view title = titled.title;
      const std::size_t comma = title.find(", ");
      const std::string device = devices > 1 ? fmt::format("{}: ", i) : "";
      bars.bars.push_back({.group = device + std::string(title.substr(comma + 2)),
                           .label = std::string(title.substr(0, comma)),
                           .value = result->value,
                           .interval = result->interval});
    }
  }
  // Clusters are side by side.
  std::ranges::stable_sort(bars.bars, {}, &Bar::group);
  view.content = std::move(bars);
}

std::vector<Probe> device_probes(const core::Topology&) {
  return {{.name = "device",
           .what = "coprocessors by OpenCL: transfers, launches, memory, arithmetic, overlap",
           .unit = "several",
           .better = Better::neither,
           .version = 3,
           .seconds = {24, 5},  // and building the programs
           .run = run_device}};
}

}  // namespace tabane::lab
