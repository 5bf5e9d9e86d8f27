// A folder that stands for the root of a machine, for tests of what reads /proc and /sys.
#pragma once

#include <filesystem>
#include <string>

#include "tabane/core/file.h"
#include "tabane/core/scratch_folder.h"

namespace tabane::core {

class FakeMachine {
 public:
  FakeMachine& file(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = root() + path;
    std::filesystem::create_directories(whole.parent_path());
    write_file(whole, text);
    return *this;
  }
  std::string root() const { return folder_.path().string(); }

 private:
  ScratchFolder folder_{"tabane-test"};
};

}  // namespace tabane::core
