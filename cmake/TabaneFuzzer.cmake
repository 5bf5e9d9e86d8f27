# tabane_fuzzer(TEST OPTIONS … SOURCES …): a test that runs a fuzzer with OPTIONS. SOURCES are files
# or patterns below tabane/, without .cc. No test where there is no clang with libFuzzer.
find_program(TABANE_CLANGXX NAMES clang++ clang++-19 clang++-16 clang++-15 clang++-14)
set(fuzz_flags -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -I${PROJECT_SOURCE_DIR})
if(TABANE_TESTS AND TABANE_CLANGXX AND NOT DEFINED TABANE_LIBFUZZER)
  file(WRITE ${PROJECT_BINARY_DIR}/fuzz_probe.cc
       "extern \"C\" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }")
  execute_process(
    COMMAND ${TABANE_CLANGXX} ${fuzz_flags} fuzz_probe.cc -o fuzz_probe
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
    RESULT_VARIABLE fuzz_result OUTPUT_QUIET ERROR_QUIET)
  string(COMPARE EQUAL "${fuzz_result}" 0 fuzz_works)
  set(TABANE_LIBFUZZER ${fuzz_works} CACHE BOOL "clang++ has libFuzzer")
endif()

function(tabane_fuzzer test)
  if(NOT TABANE_TESTS OR NOT TABANE_CLANGXX OR NOT TABANE_LIBFUZZER)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "OPTIONS;SOURCES" ${ARGN})
  set(program ${CMAKE_CURRENT_BINARY_DIR}/${test})
  list(TRANSFORM ARG_SOURCES REPLACE ".+" "${PROJECT_SOURCE_DIR}/tabane/\\0.cc")
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_SOURCES})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  set(text "")
  foreach(source IN LISTS sources)
    string(APPEND text "#include \"${source}\"\n")
  endforeach()
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
