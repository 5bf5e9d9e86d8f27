// A folder in place of the root of a machine, for tests of what reads /proc and /sys.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"

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

inline std::string cpu_mask(unsigned first, unsigned last) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x\n", (2u << last) - (1u << first));
  return text;
}

// The files of a virtual machine of 4 packages x 2 cores whose nodes have the CPUs 0-2, 3-4, 5-7.
inline void crossing_nodes(FakeMachine& machine) {
  const std::string cpus = "/sys/devices/system/cpu", nodes = "/sys/devices/system/node";
  for (const char* file : {"/online", "/possible", "/present"}) machine.file(cpus + file, "0-7\n");
  for (unsigned pu = 0; pu < 8; ++pu) {
    const std::string topology = cpus + "/cpu" + std::to_string(pu) + "/topology/";
    machine.file(topology + "physical_package_id", std::to_string(pu / 2) + "\n")
        .file(topology + "core_id", std::to_string(pu % 2) + "\n")
        .file(topology + "thread_siblings", cpu_mask(pu, pu))
        .file(topology + "core_siblings", cpu_mask(pu / 2 * 2, pu / 2 * 2 + 1));
  }
  const std::pair<unsigned, unsigned> ranges[] = {{0, 2}, {3, 4}, {5, 7}};
  machine.file(nodes + "/online", "0-2\n");
  for (unsigned i = 0; i < 3; ++i) {
    const auto [first, last] = ranges[i];
    const std::string node = nodes + "/node" + std::to_string(i);
    machine.file(node + "/cpumap", cpu_mask(first, last))
        .file(node + "/cpulist", std::to_string(first) + "-" + std::to_string(last) + "\n")
        .file(node + "/meminfo", "Node " + std::to_string(i) + " MemTotal: 524288 kB\n");
  }
}

}  // namespace tabane::core
