// The three systems M^q = C - diag(S / rho^q), factored on the grid of ranks.
//
// They differ on their diagonals alone, but that makes all that follows different, too, except
// the elimination of the first face: its diagonal block is D = -diag(S / rho), and in C21 D^-1 C12
// rho, the same for all of a face, is a factor. So that product is made once for all colours:
//
//   step                          operations done     as the benchmark counts
//   first face, f of n patches    (n - f)^2 f         3 (n - f)^2 f
//   the rest                      (n - f)^3           (n - f)^3
//
// Where n = 5 f, as in the benchmark's box, 0.64 n^3 are done and 0.90 n^3 counted.
#pragma once

#include <array>
#include <vector>

#include "tabane/tools/slalom/panels.h"
#include "tabane/tools/slalom/setup.h"

namespace tabane::slalom {

// The factors of what remains of the systems after the first face: L below the diagonal, D on it.
class LdlFactors {
 public:
  // Takes the memory that the two matrices need besides the couplings'.
  explicit LdlFactors(Couplings& couplings);
  static std::size_t bytes(const Distribution& distribution);

  // All ranks call it. The couplings but those of the first face are overwritten.
  void compute(const Geometry& geometry, const Region& region, comm::Grid& grid,
               comm::Steps& steps);

  const Distribution& distribution() const { return couplings_.distribution(); }
  LowerPart& of(int colour);

 private:
  void eliminate_first_face(PanelExchange& panels, comm::Grid& grid, comm::Steps& steps);
  void make_systems(const Geometry& geometry, const Region& region);
  void factor_panel(int k, PanelExchange& panels, comm::Grid& grid, comm::Steps& steps);
  void keep_panel(int k, PanelExchange& panels);

  Couplings& couplings_;
  std::array<LowerPart, kColours - 1> others_;
  std::vector<double> diagonal_, space_;
};

// Solves the three systems by their factors. Returns on rank 0 the radiosities of all patches in
// red, then those in green and blue; nothing elsewhere. All ranks call it. cost: the factors are
// read twice, 4 operations a number.
std::vector<double> substitute(const Geometry& geometry, const Region& region, Couplings& couplings,
                               LdlFactors& factors, comm::Grid& grid, comm::Steps& steps);

}  // namespace tabane::slalom
