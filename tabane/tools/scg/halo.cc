#include "tabane/tools/scg/halo.h"

#include <algorithm>
#include <span>

#include "tabane/simd/reduction.h"

namespace tabane::scg {
namespace {

// Where the elements along a side lie; beyond: those of the frame.
struct Line {
  double* first;
  std::ptrdiff_t step;
};
Line line_of(const Field& field, const Block& block, int side, bool beyond) {
  const auto rows = static_cast<std::ptrdiff_t>(block.rows);
  const auto columns = static_cast<std::ptrdiff_t>(block.columns);
  switch (side) {
    case kNorth:
      return {field.row(beyond ? -1 : 0), 1};
    case kSouth:
      return {field.row(beyond ? rows : rows - 1), 1};
    case kWest:
      return {field.row(0) - (beyond ? 1 : 0), field.stride()};
    default:
      return {field.row(0) + (beyond ? columns : columns - 1), field.stride()};
  }
}

// sum of c[i * step] a[i] b[i], in four chains.
double weighted_dot(const double* c, std::ptrdiff_t step, const std::vector<double>& a,
                    const std::vector<double>& b) {
  std::array<double, 4> sums{};
  for (std::size_t i = 0; i < a.size(); ++i) {
    sums[i % 4] += c[static_cast<std::ptrdiff_t>(i) * step] * a[i] * b[i];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

Halo::Halo(comm::Comm& comm, const Block& block) : comm_(comm), block_(block) {
  for (int side = 0; side < kSides; ++side) {
    const auto s = static_cast<std::size_t>(side);
    if (block.neighbours[s] < 0) continue;
    edges_[s] = {std::vector<double>(length(side)), std::vector<double>(length(side))};
  }
  spare_.resize(std::max(block.rows, block.columns));
  requests_.reserve(2 * kSides);
}

std::size_t Halo::length(int side) const {
  return side == kNorth || side == kSouth ? block_.columns : block_.rows;
}

void Halo::copy_edge(const Field& field, int side, std::vector<double>& to) const {
  const Line line = line_of(field, block_, side, false);
  for (std::size_t i = 0; i < length(side); ++i) {
    to[i] = line.first[static_cast<std::ptrdiff_t>(i) * line.step];
  }
}

void Halo::begin(const Field& p) {
  for (int side = 0; side < kSides; ++side) {
    std::vector<double>& sent = edges_[static_cast<std::size_t>(side)].sent;
    if (!sent.empty()) copy_edge(p, side, sent);
  }
  start();
}

// What is sent is computed twice, here and in the pass over the block, which meanwhile need not
// care for its edges.
void Halo::begin(const Field& r, double beta, const Field& p) {
  for (int side = 0; side < kSides; ++side) {
    std::vector<double>& sent = edges_[static_cast<std::size_t>(side)].sent;
    if (sent.empty()) continue;
    if (side == kNorth || side == kSouth) {
      combine(line_of(r, block_, side, false).first, beta, line_of(p, block_, side, false).first,
              sent.data(), sent.size());
    } else {
      copy_edge(r, side, sent);
      copy_edge(p, side, spare_);
      combine(sent.data(), beta, spare_.data(), sent.data(), sent.size());
    }
  }
  start();
}

// A message's tag is the side that it leaves by.
void Halo::start() {
  requests_.clear();
  for (int side = 0; side < kSides; ++side) {
    Edge& edge = edges_[static_cast<std::size_t>(side)];
    const int neighbour = block_.neighbours[static_cast<std::size_t>(side)];
    if (neighbour < 0) continue;
    requests_.push_back(
        comm_.irecv(neighbour, edge.received, opposite(static_cast<SideIndex>(side))));
    requests_.push_back(comm_.isend(neighbour, edge.sent, side));
  }
}

void Halo::wait() {
  comm::wait_all(requests_);
  requests_.clear();
}

void Halo::place(const Field& p) {
  for (int side = 0; side < kSides; ++side) {
    const std::vector<double>& received = edges_[static_cast<std::size_t>(side)].received;
    if (received.empty()) continue;
    const Line line = line_of(p, block_, side, true);
    for (std::size_t i = 0; i < received.size(); ++i) {
      line.first[static_cast<std::ptrdiff_t>(i) * line.step] = received[i];
    }
  }
}

double Halo::cut_edges(const Field& p, const Couplings& couplings) const {
  double sum = 0;
  for (const int side : {kNorth, kWest}) {
    const Edge& edge = edges_[static_cast<std::size_t>(side)];
    if (edge.sent.empty()) continue;
    if (couplings.east == nullptr) {
      sum += 0.25 * simd::dot(edge.sent, edge.received);
    } else if (side == kNorth) {
      sum += weighted_dot(couplings.south - p.stride(), 1, edge.sent, edge.received);
    } else {
      sum += weighted_dot(couplings.east - 1, p.stride(), edge.sent, edge.received);
    }
  }
  return sum;
}

}  // namespace tabane::scg
