// The coprocessors: what each can do, its transfers, its memory over size.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "tabane/core/units.h"
#include "tabane/lab/survey/present.h"

namespace tabane::lab {
namespace {

struct Shown {
  const char* name;  // below device.N
  const char* title;
};

constexpr std::array kTransfers = {
    Shown{"transfer.to_device.pageable", "to the device, pageable"},
    Shown{"transfer.to_device.pinned", "to the device, pinned"},
    Shown{"transfer.to_device.mapped", "to the device, mapped"},
    Shown{"transfer.from_device.pageable", "from the device, pageable"},
    Shown{"transfer.from_device.pinned", "from the device, pinned"},
    Shown{"transfer.from_device.mapped", "from the device, mapped"}};
constexpr std::array kOthers = {Shown{"launch", "launch of a kernel and its end"},
                                Shown{"memory.read", "reading its memory"},
                                Shown{"peak.fma.single", "single precision"},
                                Shown{"peak.fma.double", "double precision"},
                                Shown{"peak.integer", "32-bit integers"},
                                Shown{"overlap", "transfer hidden by computing"}};

const Result* figure(const Record& record, std::size_t device, const char* name) {
  const Result* result = record.find(fmt::format("device.{}.{}", device, name));
  return result != nullptr && result->value ? result : nullptr;
}

// "NAME (PLATFORM), GPU of 132 units, 139 GiB", of each device in turn.
std::vector<std::string> devices_of(const Record& record) {
  std::vector<std::string> names;
  while (const Result* launch = figure(record, names.size(), "launch")) {
    const auto name = launch->details.find("device");
    const bool told = name != launch->details.end() && name->is_string();
    names.push_back(told ? name->get<std::string>() : fmt::format("device {}", names.size()));
  }
  return names;
}

Entry entry(const Result* result) {
  return result == nullptr ? Entry("not measured")
                           : Entry(*result->value, result->unit, result->interval);
}

View table(const Record& record, const std::vector<std::string>& devices) {
  Rows rows;
  rows.columns = {"figure"};
  for (std::size_t i = 0; i < devices.size(); ++i)
    rows.columns.push_back(fmt::format("device {}", i));
  const auto add = [&](const Shown& shown) {
    std::vector<Entry> row = {shown.title};
    for (std::size_t i = 0; i < devices.size(); ++i)
      row.push_back(entry(figure(record, i, shown.name)));
    rows.rows.push_back(std::move(row));
  };
  for (const Shown& shown : kTransfers) add(shown);
  for (const Shown& shown : kOthers) add(shown);
  return {.name = "device", .title = "Coprocessors", .content = std::move(rows)};
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

std::optional<View> transfers(const Record& record, const std::vector<std::string>& devices) {
  Bars bars{.unit = "B/s", .bars = {}, .clustered = true};
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (const Shown& shown : kTransfers) {
      const Result* result = figure(record, i, shown.name);
      if (result == nullptr) continue;
      const std::string_view title = shown.title;
      const std::size_t comma = title.find(", ");
      const std::string device = devices.size() > 1 ? fmt::format("{}: ", i) : "";
      bars.bars.push_back({.group = device + std::string(title.substr(comma + 2)),
                           .label = std::string(title.substr(0, comma)),
                           .value = result->value,
                           .interval = result->interval});
    }
  }
  // Clusters stand together.
  std::ranges::stable_sort(bars.bars, {}, &Bar::group);
  if (bars.bars.empty()) return std::nullopt;
  return View{.name = "device.transfers",
              .title = "Transfers to and from the coprocessors",
              .note =
                  "Pageable memory is what malloc gives; a driver copies it through memory that "
                  "is pinned. Mapped memory is copied by the host itself.",
              .content = std::move(bars)};
}

// Calls the curves what the bars and the table call them.
View transfer_sizes(View view, std::size_t devices) {
  for (Curve& curve : std::get<Curves>(view.content).series) {
    for (std::size_t i = 0; i < devices; ++i) {
      for (const Shown& shown : kTransfers) {
        if (curve.name != fmt::format("device.{}.{}", i, shown.name)) continue;
        curve.name = devices > 1 ? fmt::format("{}: {}", i, shown.title) : shown.title;
      }
    }
  }
  view.note =
      "The bars are of the most bytes. Smaller transfers may be faster where a cache holds them, "
      "and slower where the start of each counts.";
  return view;
}

}  // namespace

std::vector<View> present_devices(const Record& record) {
  std::vector<View> views;
  const std::vector<std::string> devices = devices_of(record);
  if (devices.empty()) return views;
  View all = table(record, devices);
  all.note = "Measured through OpenCL, each device alone, in a process of its own.";
  for (std::size_t i = 0; i < devices.size(); ++i)
    all.note += fmt::format(" Device {} is {}.{}", i, devices[i], note_of(record, i));
  views.push_back(std::move(all));
  if (auto view = transfers(record, devices)) views.push_back(*std::move(view));
  if (const View* sizes = record.find_view("device.transfer_sizes")) {
    views.push_back(transfer_sizes(*sizes, devices.size()));
  }
  if (const View* memory = record.find_view("device.memory")) {
    views.push_back(*memory);
    views.back().note =
        "Each point reads so many bytes again and again; where the curve falls, they no longer fit "
        "into the device's caches.";
  }
  return views;
}

}  // namespace tabane::lab
