// device: what each coprocessor can do, measured in a process of its own. Drivers start threads and
// map much memory, which would slow the forks of other probes, and one that crashes ends that
// process alone.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "tabane/device/module.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/device_figures.h"
#include "tabane/team/fork.h"
#include "tabane/team/shared_block.h"

namespace tabane::lab {
namespace {

constexpr std::size_t kAnswerBytes = std::size_t{1} << 20;

Json to_json(const DeviceFigures& measured) {
  Json figures = Json::array();
  for (const DeviceFigure& figure : measured.figures) {
    figures.push_back({{"name", figure.name},
                       {"what", figure.what},
                       {"unit", figure.unit},
                       {"lower", figure.better == Better::lower},
                       {"samples", figure.samples},
                       {"how", figure.how}});
  }
  Json transfers = Json::array();
  for (const DeviceCurve& curve : measured.transfers)
    transfers.push_back({{"name", curve.name}, {"bytes", curve.bytes}, {"rates", curve.rates}});
  return {{"figures", figures},
          {"transfers", transfers},
          {"read_bytes", measured.read_bytes},
          {"read_rates", measured.read_rates}};
}

// What the other process says: {"reason": …}, or {"devices": [{"about", "figures", …}]}.
Json answer(double seconds) {
  try {
    const device::Devices& all = device::devices();
    if (all.list.empty()) return {{"reason", all.reason}};
    Json devices = Json::array();
    for (std::size_t i = 0; i < all.list.size(); ++i) {
      const auto device = device::open_device(i);
      Json one = to_json(measure_device(*device, seconds / static_cast<double>(all.list.size())));
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

Json ask(ProbeContext& context) {
  const team::SharedBlock block(kAnswerBytes, "what a coprocessor can do");
  const double seconds = context.budget_seconds();
  const pid_t child = team::fork_child([&block, seconds] {
    const std::string text = answer(seconds).dump();
    if (text.size() >= block.size()) return 1;
    std::memcpy(block.data(), text.data(), text.size());
    return 0;
  });
  wait_for(child, context);
  const char* const text = reinterpret_cast<const char*>(block.data());
  if (*text == '\0') throw NotHere("the process that asks for coprocessors has said nothing");
  Json said = Json::parse(text);
  if (said.contains("reason")) throw NotHere(said["reason"].get<std::string>());
  return said;
}

void report_figures(const Probe& probe, ProbeContext& context, const std::string& name,
                    const Json& device) {
  for (const Json& figure : device["figures"]) {
    Result result = probe.result();
    result.name = fmt::format("{}.{}", name, figure["name"].get<std::string>());
    result.what = figure["what"].text();
    result.unit = figure["unit"].text();
    result.better = figure["lower"].get<bool>() ? Better::lower : Better::higher;
    result.details["device"] = device["about"];
    if (const std::string& how = figure["how"].text(); !how.empty()) result.details["type"] = how;
    set_samples(result, figure["samples"].get<std::vector<double>>());
    context.report(std::move(result));
  }
}

void report_curves(ProbeContext& context, const char* name, const char* title, Curves curves) {
  std::erase_if(curves.series, [](const Curve& curve) { return curve.x.size() < 2; });
  if (!curves.series.empty())
    context.report(View{.name = name, .title = title, .content = std::move(curves)});
}

// All devices in one chart; the last pass's, as single results have the others' too.
void report_curves(ProbeContext& context, const Json& devices) {
  Curves reads{.x = {"bytes that are read", "B", true}, .y = {"bandwidth", "B/s", true}};
  Curves transfers{.x = {"bytes of a transfer", "B", true}, .y = {"bandwidth", "B/s", true}};
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Json& device = devices[i];
    reads.series.push_back({.name = device["about"].text(),
                            .x = device["read_bytes"].get<std::vector<double>>(),
                            .y = device["read_rates"].get<std::vector<double>>()});
    for (const Json& curve : device["transfers"])
      transfers.series.push_back(
          {.name = fmt::format("device.{}.{}", i, curve["name"].get<std::string>()),
           .x = curve["bytes"].get<std::vector<double>>(),
           .y = curve["rates"].get<std::vector<double>>()});
  }
  report_curves(context, "device.memory", "Memory bandwidth of the coprocessors over size",
                std::move(reads));
  report_curves(context, "device.transfer_sizes",
                "Transfers to and from the coprocessors over size", std::move(transfers));
}

void run_device(const Probe& probe, ProbeContext& context) {
  const Json devices = ask(context)["devices"];
  for (std::size_t i = 0; i < devices.size(); ++i)
    report_figures(probe, context, fmt::format("device.{}", i), devices[i]);
  report_curves(context, devices);
}

}  // namespace

std::vector<Probe> device_probes(const core::Topology&) {
  Probe probe{.name = "device",
              .what = "coprocessors by OpenCL: transfers, launches, memory, arithmetic, overlap",
              .unit = "several",
              .better = Better::neither,
              .version = 2,
              .seconds = 24,
              .quick_seconds = 8};
  probe.run = run_device;
  return {probe};
}

}  // namespace tabane::lab
