#include "tabane/tools/encrypt/header_io.h"

#include <algorithm>
#include <array>

#include "tabane/core/file.h"
#include "tabane/tools/encrypt/sealed_format.h"

namespace tabane::encrypt {

std::vector<std::byte> read_header(int file, std::string_view what) {
  std::array<std::byte, 1024> first;
  const std::size_t there = core::read_all_at(file, first.data(), first.size(), 0, what);
  const std::size_t wanted = header_bytes(std::span(first).first(there));
  std::vector<std::byte> header(
      first.begin(), first.begin() + static_cast<std::ptrdiff_t>(std::min(there, wanted)));
  if (wanted <= there || there < first.size()) return header;
  header.resize(wanted);
  header.resize(there +
                core::read_all_at(file, header.data() + there, wanted - there, there, what));
  return header;
}

}  // namespace tabane::encrypt
