# find_package(tabane CONFIG): targets tabane::core, tabane::simd, tabane::team, tabane::comm,
# tabane::device, and tabane::tabane for all of them.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(fmt)
find_dependency(PkgConfig)
# The libraries are static, so what they use must be linked too; these have no CMake package.
pkg_check_modules(HWLOC QUIET IMPORTED_TARGET hwloc)
pkg_check_modules(HWY QUIET IMPORTED_TARGET libhwy)
if(NOT HWLOC_FOUND OR NOT HWY_FOUND)
  set(tabane_FOUND FALSE)
  set(tabane_NOT_FOUND_MESSAGE "tabane needs hwloc and libhwy: pkg-config does not find both")
  return()
endif()
include(${CMAKE_CURRENT_LIST_DIR}/tabaneTargets.cmake)
