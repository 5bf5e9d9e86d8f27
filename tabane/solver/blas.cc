#include "tabane/solver/blas.h"

#include <dlfcn.h>

#include <atomic>
#include <vector>

namespace tabane::solver {
namespace {

std::atomic<bool> was_asked{false};  // for memory, by OpenBLAS

std::mutex& memory_mutex() {
  static std::mutex mutex;
  return mutex;
}

// OpenBLAS's own function.
template <class Function>
Function* behind(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool asks_here() {
  constexpr int kLarge = 160;  // small products need no memory
  const std::vector<double> ones(kLarge * kLarge, 1);
  std::vector<double> product(kLarge * kLarge);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, kLarge, kLarge, kLarge, 1, ones.data(),
              kLarge, ones.data(), kLarge, 0, product.data(), kLarge);
  return was_asked;
}

}  // namespace

bool blas_memory_is_locked() {
  static const bool locked = asks_here();
  return locked;
}

std::unique_lock<std::mutex> alone_in_blas() {
  static std::mutex mutex;
  return blas_memory_is_locked() ? std::unique_lock<std::mutex>() : std::unique_lock(mutex);
}

}  // namespace tabane::solver

// The linker should prefer these to OpenBLAS's functions of the same names, which each of its
// routines calls at its beginning and end.
extern "C" {

void* blas_memory_alloc(int place);
void blas_memory_free(void* memory);

void* blas_memory_alloc(int place) {
  using tabane::solver::behind;
  static const auto own = behind<void*(int)>("blas_memory_alloc");
  const std::lock_guard lock(tabane::solver::memory_mutex());
  tabane::solver::was_asked = true;
  return own(place);
}

void blas_memory_free(void* memory) {
  using tabane::solver::behind;
  static const auto own = behind<void(void*)>("blas_memory_free");
  const std::lock_guard lock(tabane::solver::memory_mutex());
  own(memory);
}
}
