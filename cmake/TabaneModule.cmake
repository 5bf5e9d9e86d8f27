# tabane_module(NAME HEADERS … SOURCES … DEPENDS … PRIVATE_DEPENDS … [PRECOMPILE …]):
#   one static library tabane_NAME, alias tabane::NAME.
# tabane_tests(NAME SOURCES … DEPENDS … [LABELS …] [PRECOMPILE …] [SERIAL]):
#   one GoogleTest program NAME_test of the module's x_test.cc files.
# SERIAL: no other test runs meanwhile. PRECOMPILE names the large headers of others that most of
# the sources include.

add_library(tabane_build_flags INTERFACE)
target_compile_options(
  tabane_build_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
                               -fno-math-errno)
# GCC 12 alone sees overlapping copies of 2^63 bytes in inlined std::string operations that its own
# library wrote (GCC bugs 105329 and 105651, mended in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  target_compile_options(tabane_build_flags INTERFACE -Wno-restrict -Wno-stringop-overflow
                                                 -Wno-array-bounds)
endif()
if(TABANE_SANITIZE)
  target_compile_options(
    tabane_build_flags INTERFACE -fsanitize=${TABANE_SANITIZE} -fno-omit-frame-pointer
                                 -fno-sanitize-recover=all)
  target_link_options(tabane_build_flags INTERFACE -fsanitize=${TABANE_SANITIZE})
endif()

function(tabane_module name)
  cmake_parse_arguments(ARG "" "" "HEADERS;SOURCES;DEPENDS;PRIVATE_DEPENDS;PRECOMPILE" ${ARGN})
  add_library(tabane_${name} STATIC ${ARG_SOURCES})
  add_library(tabane::${name} ALIAS tabane_${name})
  set_target_properties(tabane_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_sources(
    tabane_${name}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
  target_link_libraries(
    tabane_${name}
    PUBLIC ${ARG_DEPENDS}
    PRIVATE ${ARG_PRIVATE_DEPENDS} $<BUILD_INTERFACE:tabane_build_flags>)
  target_compile_features(tabane_${name} PUBLIC cxx_std_20)
  if(ARG_PRECOMPILE)
    target_precompile_headers(tabane_${name} PRIVATE ${ARG_PRECOMPILE})
  endif()
  set_property(GLOBAL APPEND PROPERTY TABANE_MODULES tabane_${name})
  list(TRANSFORM ARG_HEADERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE absolute)
  set_property(GLOBAL APPEND PROPERTY TABANE_PUBLIC_HEADERS ${absolute})
endfunction()

function(tabane_tests name)
  if(NOT TABANE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "SERIAL" "" "SOURCES;DEPENDS;LABELS;PRECOMPILE" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name}_test ${ARG_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPENDS} GTest::gtest_main tabane_build_flags)
  target_precompile_headers(${name}_test PRIVATE <gtest/gtest.h> ${ARG_PRECOMPILE})
  gtest_discover_tests(
    ${name}_test
    TEST_PREFIX ${name}.
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300 LABELS "${ARG_LABELS}" RUN_SERIAL ${ARG_SERIAL})
endfunction()
