#include "tabane/lab/probes/device_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "tabane/core/statistics.h"
#include "tabane/lab/probes/common.h"

namespace tabane::lab {
namespace {

constexpr const char* kDeviceSource =
#include "tabane/lab/probes/device.cl"
    ;

using device::Kind;

// Bytes of a transfer, and of what is read: more than fits a cache, and so much that C libraries
// copy past the caches. Copies that just miss a cache are slower by a third.
constexpr std::size_t kMost = std::size_t{256} << 20;
constexpr std::size_t kLeast = std::size_t{16} << 20;
constexpr double kBytesPerSecond = 100 << 20;  // of the time that all takes
constexpr int kFewestSamples = 3;              // samples
constexpr std::size_t kReads = 16;             // vectors that an item reads
constexpr std::size_t kReadGroup = 256;        // items
constexpr double kLaunchSeconds = 5e-3;        // timed at once, beside which a start is little

// Times of the work after a run that does not count.
std::vector<double> times_of(double budget, const auto& work) {
  work();
  std::vector<double> times;
  double spent = 0;
  while (times.size() < kFewestSamples || (spent < budget && times.size() < 1000)) {
    times.push_back(time_of(work));
    spent += times.back();
  }
  return times;
}

std::vector<double> rates_of(std::vector<double> times, double amount) {
  for (double& t : times) t = amount / t;
  return times;
}

struct DeviceFigure {
  std::string name, what, unit;
  std::vector<double> samples;
  std::string how = {};
};

// A multiply-add or a reading kernel for one type of numbers.
struct Compute {
  std::unique_ptr<device::Program> program;
  std::unique_ptr<device::Kernel> kernel;
  std::string type;
  std::size_t width = 0, bytes = 0;  // numbers of an item's vector; bytes of it
};

class Measuring {
 public:
  Measuring(device::Device& device, double seconds, const DevicePlan& plan)
      : device_(device),
        about_(device.description()),
        plan_(plan),
        share_(seconds / 14),
        queue_(device.queue()) {
    // A CPU has few units that do one group each; a GPU hides latency by many items.
    group_ = about_.kind == Kind::cpu ? 64 : 256;
    items_ = about_.compute_units * group_ * (about_.kind == Kind::cpu ? 16 : 64);
    out_ = device_.buffer(items_ * 128);
    // A CPU takes longer for what caches do not hide.
    const double wanted = about_.kind == Kind::cpu ? seconds * kBytesPerSecond : 1.0 * kMost;
    bytes_ =
        std::min<std::size_t>(static_cast<std::size_t>(std::clamp<double>(wanted, kLeast, kMost)),
                              about_.largest_buffer_bytes / 4) /
        4096 * 4096;
    numbers_.resize(bytes_ / sizeof(float));
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      numbers_[i] =
          std::bit_cast<float>(0x3f800000 | static_cast<std::uint32_t>(i) * 0x9e3779b9 >> 9);
    data_ = filled(bytes_);
  }

  Json all() {
    transfers();
    launches();
    arithmetic("peak.fma.single", "float", "single-precision multiply-adds", "FLOP/s");
    if (about_.has_double)
      arithmetic("peak.fma.double", "double", "double-precision multiply-adds", "FLOP/s");
    arithmetic("peak.integer", "int", "multiply-adds of 32-bit integers", "op/s");
    memory();
    overlap();
    return std::move(found_);
  }

 private:
  void add(const DeviceFigure& figure) {
    found_["figures"].push_back({{"name", figure.name},
                                 {"what", figure.what},
                                 {"unit", figure.unit},
                                 {"lower", figure.unit == "s"},
                                 {"samples", figure.samples},
                                 {"how", figure.how}});
  }

  void run(const Compute& compute) {
    queue_->launch(*compute.kernel, items_, group_);
    queue_->finish();
  }

  std::unique_ptr<device::Buffer> filled(std::size_t bytes) {
    auto buffer = device_.buffer(bytes);
    queue_->write(*buffer, 0, std::as_bytes(std::span(numbers_)).first(bytes));
    queue_->finish();
    return buffer;
  }

  // ---- transfers ----

  // Each with the memory that it needs alone.
  void transfers() {
    {
      const std::span<std::byte> pageable = std::as_writable_bytes(std::span(numbers_));
      transfer("pageable", "memory as malloc gives it", pageable);
      mapped(pageable);
    }
    const auto pinned = device_.host_memory(bytes_);
    std::ranges::copy(std::as_bytes(std::span(numbers_)), pinned->bytes().begin());
    transfer("pinned", "pinned memory", pinned->bytes());
  }

  void transfer(const char* kind, const char* from, std::span<std::byte> host) {
    over_size(fmt::format("transfer.to_device.{}", kind),
              fmt::format("bandwidth of transfers to the device from {}", from),
              [&](std::size_t bytes) { queue_->write(*data_, 0, host.first(bytes)); });
    over_size(fmt::format("transfer.from_device.{}", kind),
              fmt::format("bandwidth of transfers from the device to {}", from),
              [&](std::size_t bytes) { queue_->read(*data_, 0, host.first(bytes)); });
  }

  // The host copies to or from the place where it sees the device's memory.
  void mapped(std::span<std::byte> host) {
    std::unique_ptr<device::Buffer> smaller;
    const auto copy = [&](bool to_device, std::size_t bytes) {
      if (bytes < bytes_ && (!smaller || smaller->bytes() != bytes)) smaller = filled(bytes);
      device::Buffer& buffer = bytes < bytes_ ? *smaller : *data_;
      std::byte* const place = queue_->map(buffer, to_device);
      to_device ? std::memcpy(place, host.data(), bytes) : std::memcpy(host.data(), place, bytes);
      queue_->unmap(buffer, place);
    };
    over_size("transfer.to_device.mapped", "bandwidth of copying into mapped memory of the device",
              [&](std::size_t bytes) { copy(true, bytes); });
    over_size("transfer.from_device.mapped",
              "bandwidth of copying from mapped memory of the device",
              [&](std::size_t bytes) { copy(false, bytes); });
  }

  // The figure is of the most bytes; the curve shows what caches add below.
  void over_size(const std::string& name, std::string what,
                 const std::function<void(std::size_t bytes)>& move) {
    Json sizes = Json::array(), medians = Json::array();
    const auto rates = [&](std::size_t bytes, double seconds) {
      const auto work = [&] {
        move(bytes);
        queue_->finish();
      };
      const auto found = rates_of(times_of(seconds, work), static_cast<double>(bytes));
      sizes.push_back(bytes);
      medians.push_back(core::median(found));
      return found;
    };
    for (std::size_t bytes = std::size_t{1} << 20; plan_.curves && bytes < bytes_; bytes *= 4)
      rates(bytes, share_ / 8);
    add({name, std::move(what), "B/s", rates(bytes_, share_ / 2)});
    found_["transfers"].push_back({{"name", name}, {"bytes", sizes}, {"rates", medians}});
  }

  // ---- kernels ----

  Compute build(const char* kernel, const std::string& number, std::size_t width) {
    Compute compute{.type = width == 1 ? number : fmt::format("{}{}", number, width),
                    .width = width,
                    .bytes = width * (number == "double" ? 8 : 4)};
    compute.program = device_.program(
        kDeviceSource,
        fmt::format("-DNUMBER={} -DT={} -DREADS={} -DFMA(a,b,c)={}", number, compute.type, kReads,
                    number == "int" ? "((a)*(b)+(c))" : "fma(a,b,c)"));
    compute.kernel = compute.program->kernel(kernel);
    return compute;
  }

  void launches() {
    const auto compute = build("nothing", "float", 1);
    add({"launch", "time from launching a kernel that does nothing until the host knows its end",
         "s", times_of(share_, [&] {
           queue_->launch(*compute.kernel, 1, 1);
           queue_->finish();
         })});
  }

  // Rounds of a kernel that make a launch last some milliseconds.
  std::uint32_t rounds_for(Compute& compute, unsigned argument) {
    std::uint32_t rounds = 1;
    for (; rounds < (1u << 24); rounds *= 2) {
      compute.kernel->set_value(argument, rounds);
      if (time_of([&] { run(compute); }) > kLaunchSeconds) break;
    }
    return rounds;
  }

  Compute build_multiply_add(const std::string& number, std::size_t width) {
    Compute compute = build("multiply_add", number, width);
    compute.kernel->set(0, *out_);
    if (number == "float") compute.kernel->set_value(1, 0.5f);
    if (number == "double") compute.kernel->set_value(1, 0.5);
    if (number == "int") compute.kernel->set_value(1, std::int32_t{3});
    return compute;
  }

  void arithmetic(const char* name, const char* number, const char* of, const char* unit) {
    constexpr double kPerRound = 8 * 8 * 2;  // chains, unrolled, multiply and add
    DeviceFigure best{name, fmt::format("{} a second when nothing waits", of), unit, {}};
    const auto widths = widths_of(name, {1, 4, 8, 16});
    const double budget = share_ / static_cast<double>(widths.size());
    for (const std::size_t width : widths) {
      Compute compute = build_multiply_add(number, width);
      const double amount =
          kPerRound * rounds_for(compute, 2) * static_cast<double>(items_ * compute.width);
      keep_better(best, rates_of(times_of(budget, [&] { run(compute); }), amount), compute);
    }
    add(best);
  }

  // Those of vectors that are tried: the one that was the best before, if that is known.
  std::vector<std::size_t> widths_of(const std::string& figure,
                                     std::vector<std::size_t> all) const {
    if (plan_.widths.contains(figure)) return {plan_.widths[figure].get<std::size_t>()};
    return all;
  }

  void keep_better(DeviceFigure& best, std::vector<double> rates, const Compute& compute) {
    if (!best.samples.empty() && core::median(rates) <= core::median(best.samples)) return;
    best.samples = std::move(rates);
    best.how = compute.type;
    found_["widths"][best.name] = compute.width;
  }

  // ---- memory ----

  // Reads `bytes` again and again: launches follow each other without a pause.
  std::vector<double> read_rates(Compute& compute, std::size_t bytes, double budget) {
    const std::size_t per_item = kReads * compute.bytes;
    const std::size_t items = bytes / per_item / kReadGroup * kReadGroup;
    compute.kernel->set(0, *data_);
    compute.kernel->set(1, *out_);
    std::size_t launches = 1;
    const auto read = [&] {
      for (std::size_t i = 0; i < launches; ++i) queue_->launch(*compute.kernel, items, kReadGroup);
      queue_->finish();
    };
    while (launches < 256 && time_of(read) < kLaunchSeconds) launches *= 2;
    return rates_of(times_of(budget, read), static_cast<double>(launches * items * per_item));
  }

  void memory() {
    DeviceFigure best{"memory.read", "bandwidth of reading the device's memory", "B/s", {}};
    for (const std::size_t width : widths_of(best.name, {1, 2, 4, 8, 16})) {
      Compute compute = build("read_all", "float", width);
      keep_better(best, read_rates(compute, bytes_, share_ / 5), compute);
    }
    add(best);
    if (!plan_.curves) return;
    Compute compute = build("read_all", "float", found_["widths"][best.name].get<std::size_t>());
    for (std::size_t bytes = 256 << 10; bytes <= bytes_; bytes *= 4) {
      if (bytes < kReadGroup * kReads * compute.bytes) continue;
      found_["read_bytes"].push_back(bytes);
      found_["read_rates"].push_back(core::median(read_rates(compute, bytes, share_ / 6)));
    }
  }

  // ---- both at once ----

  void overlap() {
    const std::size_t bytes = bytes_ / 4;
    const auto buffer = device_.buffer(bytes);
    const auto pinned = device_.host_memory(bytes);
    std::ranges::copy(std::as_bytes(std::span(numbers_)).first(bytes), pinned->bytes().begin());
    const auto other = device_.queue();
    Compute compute = build_multiply_add("float", 4);
    const auto copy = [&] {
      other->write(*buffer, 0, pinned->bytes());
      other->flush();
    };
    const auto copy_alone = [&] {
      copy();
      other->finish();
    };
    compute_as_long_as(compute, core::median(times_of(share_ / 4, copy_alone)));
    DeviceFigure figure{
        "overlap", "share of a transfer that computing at the same time hides", "share", {}};
    double spent = 0;
    while (figure.samples.size() < kFewestSamples || spent < share_) {
      const double c = time_of(copy_alone);
      const double k = time_of([&] { run(compute); });
      const double both = time_of([&] {
        queue_->launch(*compute.kernel, items_, group_);
        queue_->flush();
        copy();
        other->finish();
        queue_->finish();
      });
      figure.samples.push_back(overlap_of(c, k, both));
      spent += c + k + both;
    }
    add(figure);
  }

  void compute_as_long_as(Compute& compute, double seconds) {
    const std::uint32_t rounds = rounds_for(compute, 2);
    const double took = time_of([&] { run(compute); });
    const double wanted = std::clamp(rounds * seconds / took, 1.0, double{1 << 26});
    compute.kernel->set_value(2, static_cast<std::uint32_t>(wanted));
  }

  device::Device& device_;
  const device::Description& about_;
  const DevicePlan& plan_;
  const double share_;  // seconds of one figure
  std::unique_ptr<device::Queue> queue_;
  std::size_t group_ = 0, items_ = 0, bytes_ = 0;
  std::unique_ptr<device::Buffer> out_;
  // Positive and without a pattern, as lines of zeros may be moved faster: bytes_ of the host, and
  // of the device, which transfers leave as they are.
  std::vector<float> numbers_;
  std::unique_ptr<device::Buffer> data_;
  Json found_ = {{"figures", Json::array()},
                 {"transfers", Json::array()},
                 {"read_bytes", Json::array()},
                 {"read_rates", Json::array()},
                 {"widths", Json::object()}};
};

}  // namespace

double overlap_of(double copy_s, double compute_s, double together_s) {
  const double hidden = copy_s + compute_s - together_s;
  return std::clamp(hidden / std::min(copy_s, compute_s), 0.0, 1.0);
}

Json measure_device(device::Device& device, double seconds, const DevicePlan& plan) {
  return Measuring(device, seconds, plan).all();
}

}  // namespace tabane::lab
