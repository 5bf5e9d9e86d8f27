# tabane_fuzzer(TEST OPTIONS … SOURCES …): a test that runs a fuzzer with OPTIONS. SOURCES are files
# or patterns below tabane/, without .cc. No test where there is no clang with libFuzzer.
find_program(TABANE_CLANGXX NAMES clang++ clang++-19 clang++-16 clang++-15 clang++-14)
set(fuzz_flags -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -I${PROJECT_SOURCE_DIR})
if(TABANE_TESTS)
  execute_process(
    COMMAND ${TABANE_CLANGXX} ${fuzz_flags} -Wl,--unresolved-symbols=ignore-all -x c++ /dev/null
            -o ${PROJECT_BINARY_DIR}/fuzz_probe
    RESULT_VARIABLE fuzz_failure OUTPUT_QUIET ERROR_QUIET)
endif()

function(tabane_fuzzer test)
  if(fuzz_failure OR NOT TABANE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "OPTIONS;SOURCES" ${ARGN})
  list(TRANSFORM ARG_SOURCES REPLACE ".+" "${PROJECT_SOURCE_DIR}/tabane/\\0.cc")
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_SOURCES})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM sources REPLACE ".+" "#include \"\\0\"\n")
  list(JOIN sources "" text)
  set(program ${CMAKE_CURRENT_BINARY_DIR}/${test})
  file(CONFIGURE OUTPUT ${program}.cc CONTENT "${text}")
  add_custom_command(
    OUTPUT ${program}
    COMMAND ${TABANE_CLANGXX} ${fuzz_flags} -MD -MF ${program}.d -MT ${program} ${program}.cc -lfmt
            -lcrypto -o ${program}
    DEPENDS ${program}.cc
    DEPFILE ${program}.d
    VERBATIM)
  add_custom_target(${test}_built ALL DEPENDS ${program})
  tabane_test(${test} ${program} -seed=1 -verbosity=0 ${ARG_OPTIONS})
endfunction()
