#include "tabane/tools/encrypt/scatter_io.h"

#include <algorithm>

#include "tabane/core/file.h"

namespace tabane::encrypt {
namespace {

// Calls rest(byte, size, offset) for what lies behind the first `done` bytes of the places.
template <class Rest>
void for_the_rest(std::span<const iovec> places, std::size_t done, std::uint64_t offset,
                  const Rest& rest) {
  for (const iovec& place : places) {
    const std::size_t skipped = std::min(done, place.iov_len);
    done -= skipped;
    if (skipped < place.iov_len && !rest(static_cast<std::byte*>(place.iov_base) + skipped,
                                         place.iov_len - skipped, offset + skipped)) {
      return;
    }
    offset += place.iov_len;
  }
}

}  // namespace

std::size_t read_all_into(int fd, std::span<const iovec> places, std::uint64_t offset,
                          std::string_view what) {
  const ssize_t first =
      preadv(fd, places.data(), static_cast<int>(places.size()), static_cast<off_t>(offset));
  std::size_t total = static_cast<std::size_t>(std::max<ssize_t>(first, 0));
  for_the_rest(places, total, offset, [&](std::byte* at, std::size_t size, std::uint64_t from) {
    const std::size_t read = core::read_all_at(fd, at, size, from, what);
    total += read;
    return read == size;
  });
  return total;
}

void write_all_to_stream(int fd, std::span<const iovec> places, std::string_view what) {
  for (const iovec& place : places) core::write_all(fd, place.iov_base, place.iov_len, what);
}

void write_all_from(int fd, std::span<const iovec> places, std::uint64_t offset,
                    std::string_view what) {
  const ssize_t first =
      pwritev(fd, places.data(), static_cast<int>(places.size()), static_cast<off_t>(offset));
  for_the_rest(places, static_cast<std::size_t>(std::max<ssize_t>(first, 0)), offset,
               [&](const std::byte* at, std::size_t size, std::uint64_t to) {
                 core::write_all_at(fd, at, size, to, what);
                 return true;
               });
}

}  // namespace tabane::encrypt
