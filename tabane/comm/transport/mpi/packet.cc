#include "tabane/comm/transport/mpi/packet.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace tabane::comm::mpi {

std::size_t most_bytes() {
  static const std::size_t most = [] {
    constexpr std::size_t kMost = 1 << 30;
    const char* const text = std::getenv("TABANE_MPI_MOST_BYTES");
    const std::string_view given = text == nullptr ? "" : text;
    std::size_t number = 0;
    std::from_chars(given.data(), given.data() + given.size(), number);
    return number > 0 && number < kMost ? number : kMost;
  }();
  return most;
}

}  // namespace tabane::comm::mpi
