// Bounds the error of u, and makes u better until the bound holds.
//
// A has no positive element outside its diagonal. So if w > 0 and A w > 0 hold in every unknown,
// A^-1 has no negative element (A is an M-matrix), and the error e of any u, of which A e = r =
// b - A u, is
//
//   |e_i| <= (A^-1 |r|)_i <= (A^-1 A w)_i max_j |r_j| / (A w)_j = w_i max_j |r_j| / (A w)_j.
//
// r and A w are computed with twice the precision of a double, u and w have that precision, too,
// and bounds of what rounding does are added to |r_j| and taken from (A w)_j. So nothing that came
// before has to be trusted: neither the iterations, nor an estimate of the condition, which misses
// the very modes that b hardly contains.
//
// Such a w is a formula where k is constant: a parabola from one side to the other. Otherwise it is
// a rough solution of A w = D.
#pragma once

#include <cstddef>
#include <limits>
#include <tuple>

#include "tabane/comm/comm.h"
#include "tabane/tools/scg/system.h"

namespace tabane::scg {

// What is proved of a solution. bound: of |error of u|, divided by the largest |u|; infinite if
// none was found.
struct Proof {
  bool asked = false;
  double bound = std::numeric_limits<double>::infinity();
  double residual = 0;         // as verify()'s, before u is rounded to doubles
  std::size_t iterations = 0;  // for w, and to make u better
  double seconds = 0;

  auto fields() { return std::tie(asked, bound, residual, iterations, seconds); }
};

// Makes x of the system, which is u, better until the bound and the residual are at most
// `tolerance`, they fall no more, or `most` iterations are used up. The system is of no more use to
// iterate(). No bound is found where k varies by more than 1e180, for which twice the precision is
// too little, or where the iterations do not suffice for w. All ranks call it and get the same.
Proof prove(comm::Comm& comm, const Problem& problem, System& system, Halo& halo, double tolerance,
            std::size_t most);

}  // namespace tabane::scg
