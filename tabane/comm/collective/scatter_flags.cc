#include <algorithm>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {
namespace {

// Copies what is this rank's of a chunk of all, which begins at byte `begin`.
void pick(const Call& call, int ranks, int rank, std::size_t begin,
          std::span<const std::byte> chunk) {
  const auto p = static_cast<std::size_t>(ranks), r = static_cast<std::size_t>(rank);
  if (call.layout == Layout::block) {
    const std::size_t from = std::max(begin, r * call.bytes);
    const std::size_t to = std::min(begin + chunk.size(), (r + 1) * call.bytes);
    if (from < to) {
      copy_bytes(call.out.subspan(from - r * call.bytes, to - from),
                 chunk.subspan(from - begin, to - from));
    }
    return;
  }
  const std::size_t element = call.element.bytes;
  const std::size_t first = begin / element, elements = chunk.size() / element;
  const std::size_t skip = (r + p - first % p) % p;  // to this rank's first element of the chunk
  if (skip >= elements) return;
  copy_strided(call.out.data() + (first + skip) / p * element, element,
               chunk.data() + skip * element, p * element, (elements - skip + p - 1) / p, element);
}

}  // namespace

// The root writes all into the ring of chunks, as it lies; each rank picks what is its own, so that
// with a cyclic layout the ranks share the work of sorting.
// cost: p n bytes written once; n read by each rank, which looks at each chunk.
void scatter_flags(Group& group, const Call& call) {
  ChunkRing& ring = group.board()->ring;
  const Signature signature = signature_of(call);
  const int p = group.size(), self = group.rank();
  const std::size_t total = call.bytes * static_cast<std::size_t>(p);
  const std::size_t element = call.layout == Layout::cyclic ? call.element.bytes : 1;
  const std::size_t most = ring.chunk_bytes() / element * element;
  for (std::size_t begin = 0; begin < total; begin += most) {
    const std::size_t bytes = std::min(most, total - begin);
    if (self == call.root) {
      copy_bytes(ring.begin(), call.in.subspan(begin, bytes));
      ring.publish(signature);
    } else {
      pick(call, p, self, begin, ring.read(signature, call.root).first(bytes));
      ring.consume(call.root, begin + bytes == total);
    }
  }
  if (self == call.root) take_piece(call.in, call, p, self, 0, call.out);
}

}  // namespace tabane::comm
