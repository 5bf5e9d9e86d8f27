#include "bench/served.h"

#include <exception>
#include <iostream>
#include <sstream>

namespace tabane::bench {
namespace {

std::string answer(const std::map<std::string, Served>& work, const std::string& line) {
  std::istringstream in(line);
  std::string verb;
  std::uint64_t count = 0;
  if (!(in >> verb >> count) || !work.contains(verb)) return "this is not served: " + line;
  try {
    return std::to_string(work.at(verb)(count));
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

int serve(const std::map<std::string, Served>& work) {
  std::cout << 0 << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << answer(work, line) << std::endl;
  }
  return 0;
}

int serve_scene(int argc, char** argv, int (*scene)(const std::vector<std::string>& words)) {
  try {
    return scene({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << argv[0] << ": " << error.what() << std::endl;
    return 2;
  }
}

}  // namespace tabane::bench
