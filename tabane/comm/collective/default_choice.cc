#include "tabane/comm/collective/choice.h"

namespace tabane::comm {

// Measured with 2 ranks on 2 PUs (memory) and with 4 to 16 ranks on 2 PUs (crowded). The rules for
// more ranks, and those for messages alone, follow from the costs that the algorithms state.
std::string_view default_choice_text() {
  return R"(
memory   barrier     16  *     flags
memory   barrier     *   *     two_level
memory   broadcast   2   64    binomial
memory   broadcast   2   128K  flags
memory   broadcast   *   32K   flags
memory   broadcast   4   *     binomial
memory   broadcast   *   *     scatter_all_gather
memory   reduce      2   48    flags
memory   reduce      2   *     shared
memory   reduce      4   *     tree
memory   reduce      *   48    flags
memory   reduce      *   *     tree
memory   all_reduce  16  48    flags
memory   all_reduce  *   48    two_level
memory   all_reduce  2   32K   recursive_doubling
memory   all_reduce  16  32K   shared
memory   all_reduce  16  32K   linear
memory   all_reduce  *   32K   recursive_doubling
memory   all_reduce  *   *     reduce_scatter
memory   scatter     *   48    binomial
memory   scatter     *   4K    flags
memory   scatter     *   *     read
memory   gather      2   48    flags
memory   gather      2   2K    binomial
memory   gather      2   *     written
memory   gather      *   16K   direct
memory   gather      *   *     written
memory   all_gather  *   48    flags
memory   all_gather  *   1K    shared
memory   all_gather  16  4K    linear
memory   all_gather  *   *     read
memory   all_to_all  16  2K    shared
memory   all_to_all  *   *     pairwise
memory   scan        2   *     linear
memory   scan        *   48    flags
memory   scan        16  *     shared
memory   scan        *   *     doubling
memory   exscan      2   *     linear
memory   exscan      *   48    flags
memory   exscan      16  *     shared
memory   exscan      *   *     doubling
memory   reduce_scatter 16 4K  shared
memory   reduce_scatter *  *   pairwise
memory   gather_varying     *  *   direct
memory   scatter_varying    *  *   direct
memory   all_gather_varying *  8K  shared
memory   all_gather_varying 16 *   linear
memory   all_gather_varying *  *   ring

crowded  barrier     *   *     counter
crowded  broadcast   *   *     flags
crowded  reduce      *   *     linear
crowded  all_reduce  *   48    counter
crowded  all_reduce  16  64K   linear
crowded  all_reduce  *   64K   tree
crowded  all_reduce  *   *     reduce_scatter
crowded  scatter     *   512   binomial
crowded  scatter     *   16K   direct
crowded  scatter     *   *     read
crowded  gather      *   16K   direct
crowded  gather      *   *     written
crowded  all_gather  *   48    counter
crowded  all_gather  *   16K   shared
crowded  all_gather  *   *     read
crowded  all_to_all  16  512   shared
crowded  all_to_all  *   *     linear
crowded  scan        *   *     linear
crowded  exscan      *   *     linear
crowded  reduce_scatter 16 512 shared
crowded  reduce_scatter *  *   linear
crowded  gather_varying     *  *   direct
crowded  scatter_varying    *  *   direct
crowded  all_gather_varying *  64K shared
crowded  all_gather_varying *  *   linear

messages barrier     *   *     messages
messages broadcast   *   64K   binomial
messages broadcast   *   *     scatter_all_gather
messages reduce      *   *     tree
messages all_reduce  *   4K    recursive_doubling
messages all_reduce  *   *     reduce_scatter
messages scatter     *   1K    binomial
messages scatter     *   *     direct
messages gather      *   1K    binomial
messages gather      *   *     direct
messages all_gather  *   1K    gather_broadcast
messages all_gather  *   *     ring
messages all_to_all  *   *     pairwise
messages scan        *   *     doubling
messages exscan      *   *     doubling
messages reduce_scatter     *  *   pairwise
messages gather_varying     *  *   direct
messages scatter_varying    *  *   direct
messages all_gather_varying *  *   ring

native   barrier     *   *     native
native   broadcast   *   *     native
native   reduce      *   *     native
native   reduce      *   *     tree
native   all_reduce  *   *     native
native   all_reduce  *   4K    recursive_doubling
native   all_reduce  *   *     reduce_scatter
native   scatter     *   *     native
native   gather      *   *     native
native   all_gather  *   *     native
native   all_to_all  *   *     native
native   scan        *   *     doubling
native   exscan      *   *     doubling
native   reduce_scatter     *  *   pairwise
native   gather_varying     *  *   direct
native   scatter_varying    *  *   direct
native   all_gather_varying *  *   ring
)";
}

// In order only; of two values there is one order. The settings do not matter for the bits.
const ChoiceTable& reproducible_choice() {
  static const ChoiceTable table = ChoiceTable::parse(R"(
memory   reduce      *   48    flags
memory   reduce      *   *     shared
memory   reduce      *   *     linear
memory   all_reduce  *   48    flags
memory   all_reduce  2   32K   recursive_doubling
memory   all_reduce  *   32K   shared
memory   all_reduce  *   *     reduce_scatter
memory   scan        *   *     shared
memory   scan        *   *     linear
memory   exscan      *   *     shared
memory   exscan      *   *     linear
memory   reduce_scatter *  *   pairwise
crowded  reduce      *   *     linear
crowded  all_reduce  *   48    counter
crowded  all_reduce  *   64K   linear
crowded  all_reduce  *   *     reduce_scatter
crowded  scan        *   *     linear
crowded  exscan      *   *     linear
crowded  reduce_scatter *  *   linear
messages reduce      *   *     linear
messages all_reduce  2   4K    recursive_doubling
messages all_reduce  *   4K    linear
messages all_reduce  *   *     reduce_scatter
messages scan        *   *     linear
messages exscan      *   *     linear
messages reduce_scatter *  *   pairwise
native   reduce      *   *     linear
native   all_reduce  2   4K    recursive_doubling
native   all_reduce  *   4K    linear
native   all_reduce  *   *     reduce_scatter
native   scan        *   *     linear
native   exscan      *   *     linear
native   reduce_scatter *  *   pairwise
)",
                                                      "reproducible choice of algorithms");
  return table;
}

const std::shared_ptr<const ChoiceTable>& default_choice() {
  static const auto table = std::make_shared<const ChoiceTable>(
      ChoiceTable::parse(default_choice_text(), "built-in choice of algorithms"));
  return table;
}

}  // namespace tabane::comm
