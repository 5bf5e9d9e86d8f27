// shared_memory() and other_threads(): what processes share, and who else runs in this one.
#include <dirent.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/team/fork_cost.h"
#include "tabane/team/proc.h"

namespace tabane::team {
namespace {

// Null if the process or thread is gone.
std::optional<std::string> read_if_there(const std::string& path) {
  try {
    return read_proc(path);
  } catch (const core::SystemError& error) {
    if (error.code() == ENOENT || error.code() == ESRCH) return {};
    throw;
  }
}

std::vector<std::string> thread_names() {
  const char* const path = "/proc/self/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(opendir(path), closedir);
  if (!tasks) throw core::SystemError("opendir", path, errno);
  const std::string self = std::to_string(gettid());
  std::vector<std::string> names;
  while (const dirent* entry = readdir(tasks.get())) {
    const std::string id = entry->d_name;
    if (id[0] == '.' || id == self) continue;
    const auto stat = read_if_there(path + ("/" + id) + "/stat");
    if (!stat) continue;
    if (auto name = running_thread(*stat)) names.push_back(std::move(*name));
  }
  return names;
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

std::vector<std::string> other_threads() { return thread_names(); }

std::vector<std::string> pool_libraries() {
  std::vector<std::string> names;
  dl_iterate_phdr(add_pool_library, &names);
  return names;
}

}  // namespace tabane::team
