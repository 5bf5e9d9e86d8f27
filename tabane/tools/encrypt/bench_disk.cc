#include <fmt/format.h>

#include <exception>

#include "tabane/core/error.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/encrypt/bench_place.h"

namespace tabane::bench {
namespace {

constexpr std::uint64_t kDiskFiles = 50, kDiskFileBytes = std::uint64_t{4} << 20;
// Four times the files, what a place keeps free, and what the file system needs for itself.
constexpr std::uint64_t kDiskBytes = 4 * kDiskFiles * kDiskFileBytes + (std::uint64_t{3} << 29);

// ext4 in a file of a folder, as long as this lives. throws: core::Error if it cannot be mounted.
class Disk {
 public:
  explicit Disk(const fs::path& folder) : path_(folder / "disk") {
    const fs::path image = folder / "image";
    fs::create_directory(path_);
    run_command({"truncate", "-s", std::to_string(kDiskBytes), image});
    run_command({"mkfs.ext4", "-q", "-F", image});
    run_command({"mount", "-o", "loop", image, path_});
  }
  ~Disk() {
    try {
      run_command({"umount", path_});
    } catch (const std::exception&) {  // the folder stays; there is nobody to tell
    }
  }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Contender copy_to_disk(const Workplace& place, bool sync) {
  if (!sync) return place.parallel_cp(Direction::encrypt, 0.95);
  return place.contender("cp -r, then sync of each file",
                         {"sh", "-c",
                          fmt::format("cp -r '{0}/.' '{1}' && sync '{1}'/*", place.plain().string(),
                                      place.out().string())},
                         0.95);
}

}  // namespace

void ask_disk(Asking& asking) {
  Panel& panel = asking.panel;
  const std::string what =
      fmt::format("{} files of 4 MiB on ext4, encrypt aes-256-gcm", kDiskFiles);
  const std::string synced = what + ", --fsync";
  if (!asking.wants_any({what, synced})) return;
  try {
    const core::ScratchFolder folder("tabane-bench", panel.settings().directory);
    const Disk disk(folder.path());
    Settings settings = panel.settings();
    settings.directory = disk.path();
    Workplace place(settings, asking);
    const std::string missing = place.missing(kDiskFiles * kDiskFileBytes);
    if (!missing.empty()) throw core::Error(missing);
    place.fill(0, kDiskFiles, kDiskFileBytes);
    for (const bool sync : {false, true}) {
      if (!panel.wants(sync ? synced : what)) continue;
      std::vector<std::string> options{"-q"};
      if (sync) options.push_back("--fsync");
      panel.ask(place.question(sync ? synced : what, "B/s",
                               place.tabane(gcm(), Direction::encrypt, options),
                               {copy_to_disk(place, sync)}));
    }
  } catch (const std::exception& reason) {
    asking.skip({what, synced}, reason.what());
  }
}

}  // namespace tabane::bench
