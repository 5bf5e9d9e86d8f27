// The parameters of a machine that is simulated: what each primitive costs, as laws in text.
//
//   name           = AP1000
//   shape          = 16x16                          # a torus: rows x columns
//   send.latency   = 9.84 + 0.05 x + 0.16 hop       # microseconds; x: bytes
//   barrier        = 10.6
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tabane::comm::sim {

// What a law may depend on.
enum Variable : std::uint8_t { kBytes, kLog, kRanks, kHops, kOperations };
inline constexpr std::array<std::string_view, 5> kVariableNames{"x", "lg", "p", "hop", "op"};

// Of a call: bytes (of a gather: of all ranks together), ranks of the group, hops on the torus.
struct At {
  double bytes = 0;
  int ranks = 1;
  int hops = 0;
  double operations = 0;
};

// A sum of terms, each a number times some variables; or of several sums the largest.
class Law {
 public:
  struct Term {
    double factor = 0;
    std::uint8_t variables = 0;  // bit Variable
    bool begins = false;         // another sum
    bool has(Variable one) const { return (variables >> one & 1) != 0; }
  };

  // throws: core::UsageError if it is no law, or is negative somewhere.
  static Law parse(std::string_view text);
  std::string format() const;  // what parse() reads

  double at(const At& call) const;  // microseconds
  bool is_given() const { return !terms.empty(); }

  std::vector<Term> terms;
};

// A machine without a law for a collective makes that of messages.
struct Machine {
  std::string name;
  int rows = 0, columns = 0;                   // 0: no shape yet
  Law send_latency;                            // from the call of send until the message is there
  Law send_occupancy;                          // of the sender: until it may do something else
  Law receive_copy;                            // of the receiver, once the message is there
  Law receive_pointer;                         // the same for one that is read where it is
  Law probe;                                   // a look whether a message is there
  Law clock;                                   // a look at the clock
  Law broadcast_latency, broadcast_occupancy;  // occupancy: of the root and of each receiver
  Law barrier;                                 // after the last rank has come, as all that follow
  Law sum, max;  // of one value per rank in a row or column; max: and its rank and index
  Law gather, gather_cyclic, scatter;
  std::map<std::string, Law, std::less<>> compute;  // by kind of work; "": all others

  int ranks() const { return rows * columns; }
  int hops(int from, int to) const;

  // source: the file's name, for errors. throws: core::UsageError naming source, line and what is
  // legal there.
  static Machine parse(std::string_view text, std::string_view source);
  std::string format() const;  // what parse() reads
};

struct Preset {
  std::string_view name, what, text;
};
std::vector<Preset> presets();

// name: of a preset or a file, perhaps with a shape: "ap1000:16x16". Without one, the shape is that
// of the file, or the squarest that fits the ranks. ranks: 0: as many as the shape has.
// throws: core::UsageError if there is no such machine, or the ranks do not fit its shape.
Machine machine_named(const std::string& name, int ranks);
// The name of the same machine with this shape in place of its own: "ap1000:4x2".
std::string name_in_shape(const std::string& name, int rows, int columns);

// Multiplies laws, "setup=0.5,hop=2": of a key, or of "setup" (what a message costs whatever its
// size), "byte" (what each byte costs) or "hop". throws: core::UsageError naming what is legal.
void scale(Machine& machine, std::string_view changes);

}  // namespace tabane::comm::sim
