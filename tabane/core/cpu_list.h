// Lists of CPUs and NUMA nodes as people write them: "0-3,8", "0-15:2", "all".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tabane::core {

// Reads single indices, ranges a-b and strided ranges a-b:s, separated by commas; "all" gives a
// copy of `all`. Returns OS indices in the order written, without repetition. throws: UsageError
// that quotes the part not understood; indices above 65535 are refused.
std::vector<unsigned> parse_cpu_list(std::string_view text, std::span<const unsigned> all);

// Writes indices in ascending order as the shortest list of ranges: {0,1,2,8} gives "0-2,8".
std::string format_cpu_list(std::span<const unsigned> indices);

}  // namespace tabane::core
