#include "tabane/team/proc.h"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/units.h"

namespace tabane::team {

std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t at = std::min(text.find(separator), text.size());
  const std::string_view front = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return front;
}

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return take_until(text, ' ');
}

std::uint64_t kib(std::string_view text) {
  return core::number_in<std::uint64_t>(take_word(text)).value_or(0) * 1024;
}

std::uint64_t kib_field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    if (take_until(line, ':') == key) return kib(line);
  }
  return 0;
}

std::optional<std::string> running_thread(const std::string& stat) {
  constexpr unsigned kEnding = 0x4;  // PF_EXITING
  // The name may hold brackets and blanks, what follows it may not.
  const std::size_t close = stat.rfind(')');
  if (close == std::string::npos) return {};
  std::string_view rest = std::string_view(stat).substr(close + 1);
  for (int i = 0; i < 6; ++i)
    take_word(rest);  // state, parent, group, session, terminal, its group
  const auto flags = core::number_in<unsigned>(take_word(rest));
  if (!flags || (*flags & kEnding) != 0) return {};
  return stat.substr(0, close + 1);
}

std::uint64_t queued_ns() {
  std::uint64_t sum = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator thread("/proc/self/task", error), end;
       !error && thread != end; thread.increment(error)) {
    try {
      const std::string text = core::read_file(thread->path() / "schedstat");
      std::string_view rest = text;
      take_word(rest);  // the time on a PU
      sum += core::number_in<std::uint64_t>(take_word(rest)).value_or(0);
    } catch (const core::SystemError&) {
      // It has ended, or the kernel keeps no such numbers.
    }
  }
  return sum;
}

namespace {

// Null if the process or thread is gone.
std::optional<std::string> read_if_there(const std::string& path) {
  try {
    return core::read_file(path);
  } catch (const core::SystemError& error) {
    if (error.code() == ENOENT || error.code() == ESRCH) return {};
    throw;
  }
}

int add_pool_library(dl_phdr_info* object, std::size_t, void* names) {
  constexpr std::array<std::string_view, 5> kPools = {"libgomp", "libomp", "libiomp5", "libtbb",
                                                      "libopenblas"};
  std::string_view name = object->dlpi_name;
  name.remove_prefix(name.rfind('/') + 1);
  for (const std::string_view pool : kPools) {
    if (!name.starts_with(pool)) continue;
    static_cast<std::vector<std::string>*>(names)->emplace_back(name.substr(0, name.find('.')));
    break;
  }
  return 0;
}

}  // namespace

double SharedMemory::shared_share() const {
  return resident == 0 ? 0 : 1 - static_cast<double>(private_) / static_cast<double>(resident);
}

SharedMemory shared_memory(std::span<const pid_t> pids) {
  SharedMemory sum;
  for (const pid_t pid : pids) {
    const auto text = read_if_there("/proc/" + std::to_string(pid) + "/smaps_rollup");
    if (!text) continue;
    sum.resident += kib_field(*text, "Rss");
    sum.proportional += kib_field(*text, "Pss");
    sum.private_ += kib_field(*text, "Private_Clean") + kib_field(*text, "Private_Dirty");
  }
  return sum;
}

std::vector<std::string> other_threads() {
  const char* const path = "/proc/self/task";
  std::error_code error;
  std::filesystem::directory_iterator thread(path, error), end;
  if (error) throw core::SystemError("opendir", path, error.value());
  const std::string self = std::to_string(gettid());
  std::vector<std::string> names;
  for (; !error && thread != end; thread.increment(error)) {
    if (thread->path().filename() == self) continue;
    const auto stat = read_if_there(thread->path() / "stat");
    if (!stat) continue;
    if (auto name = running_thread(*stat)) names.push_back(std::move(*name));
  }
  return names;
}

std::vector<std::string> pool_libraries() {
  std::vector<std::string> names;
  dl_iterate_phdr(add_pool_library, &names);
  return names;
}

}  // namespace tabane::team
