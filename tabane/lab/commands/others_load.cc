#include "tabane/lab/commands/others_load.h"

#include <sys/times.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

namespace tabane::lab {

OthersLoad::OthersLoad(core::SystemFiles files) : files_(std::move(files)), start_(read()) {}

// The lines "cpu user nice system idle iowait irq softirq steal …" and "cpu0 …" of /proc/stat.
std::optional<OthersLoad::Ticks> OthersLoad::read() const {
  constexpr std::size_t kIdle = 3, kWaiting = 4;
  std::istringstream text(files_.text("/proc/stat").value_or(""));
  std::string name;
  text >> name;
  std::array<double, 8> counts{};
  for (double& count : counts)
    if (!(text >> count)) return std::nullopt;
  Ticks ticks;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    ticks.all += counts[i];
    if (i != kIdle && i != kWaiting) ticks.busy += counts[i];
  }
  for (std::string line; std::getline(text, line);) ticks.pus += line.starts_with("cpu");
  tms own{};
  times(&own);
  ticks.own = static_cast<double>(own.tms_utime + own.tms_stime + own.tms_cutime + own.tms_cstime);
  return ticks;
}

std::optional<double> OthersLoad::busy_pus() const {
  const auto now = read();
  if (!now || !start_ || now->all <= start_->all) return std::nullopt;
  const double others = now->busy - start_->busy - (now->own - start_->own);
  return now->pus * std::max(0.0, others) / (now->all - start_->all);
}

}  // namespace tabane::lab
