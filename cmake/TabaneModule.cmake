# Libraries and tests of a folder. Sources are found, not listed: x.cc belongs to the library,
# x_test.cc to a test, x_fuzz.cc to a fuzzer and the test that shares its harness, bench.cc and
# bench_x.cc to bench/. What forks, measures or needs all PUs is tested in x_fork_test.cc, that of a
# library while nothing else runs.
#
# tabane_module(NAME [IN_PROGRAM] [HEADERS PATTERN…] [EXCEPT REGEX…] [EXTRA …] DEPENDS …):
#   a static library tabane_NAME, alias tabane::NAME, of the sources below this folder whose path
#   no REGEX matches, and EXTRA ones. With HEADERS it is installed with them. The verbs in verb.cc
#   and verb_x.cc become a part of the program if IN_PROGRAM, or else a module that it loads for
#   them, with the library and what this depends on. Tests that no earlier call took are made as
#   NAME_test and NAME_fork_test.
# tabane_tests(NAME [SOURCES …] [EXTRA …] DEPENDS … [LABELS …] [SERIAL]):
#   one GoogleTest program NAME_test, of SOURCES, which are taken, and EXTRA ones, which other
#   programs may have, too; none without any. CTest runs each suite in a process of its own, and,
#   where SERIAL, nothing else meanwhile.
# tabane_test(NAME COMMAND… [PROPERTIES PROPERTY VALUE…]):
#   a test that is a command, or a script of this folder; skipped where that ends with 77.
#   PROCESSORS counts thirds of PUs: 2 by default, since most wait a third of their time, 1 for a
#   test that mostly waits, 4 for one that keeps two PUs busy. A high COST starts it early.
# tabane_script_tests(PREFIX FOLDER/ ENDING):
#   each script NAME + ENDING of a folder is a test PREFIX.NAME, which gets the path of the program,
#   and the properties in a line "# CTest: PROPERTY VALUE…" of the script. Those of a module,
#   x_test.py, are tests without this call.
# tabane_unity(TARGET): compiles up to eight sources of a folder at once, where TABANE_UNITY is on.

include_directories(${PROJECT_SOURCE_DIR})
add_compile_definitions(TABANE_VERSION="${PROJECT_VERSION}")
add_compile_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers -fno-math-errno)
# GCC 12 alone sees overlapping copies of 2^63 bytes in inlined std::string operations that its own
# library wrote (GCC bugs 105329 and 105651, mended in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  add_compile_options(-Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()
# Sources compiled at once look to GCC like headers, which should keep to themselves what is theirs.
if(TABANE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-subobject-linkage)
endif()
add_link_options(-Wl,--as-needed)
set(tabane_cold -O1)  # for what has no hot loop: it compiles in less time
if(TABANE_SANITIZE)
  set(sanitizers -fsanitize=${TABANE_SANITIZE})
  add_compile_options(${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(${sanitizers})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND TABANE_SANITIZE MATCHES "address|thread")
    string(TOUPPER ${CMAKE_MATCH_0} kind)  # sources ask for GCC's macros, which Clang has since 22
    add_compile_definitions(__SANITIZE_${kind}__=1)
  endif()
endif()

function(tabane_unity target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${path}/..)
    string(MAKE_C_IDENTIFIER ${folder} folder)
    file(STRINGS ${path} several_times REGEX "hwy/foreach_target.h" LIMIT_COUNT 1)
    if(NOT several_times)  # it compiles itself, once for each target
      math(EXPR batch "0${count_${folder}} / 8")
      math(EXPR count_${folder} "0${count_${folder}} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${batch})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TABANE_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()

# What programs load and do not link, and where it is, see core/loadable_module.h.
add_custom_target(tabane_loaded)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
if(TABANE_PACKAGE)  # the program knows no build folder: there it finds them next to itself
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
endif()

# The libraries all of which the program holds. A module that is loaded finds them there: it links
# none of them, although what it links depends on them.
set_property(GLOBAL PROPERTY TABANE_HELD tabane_core tabane_simd tabane_team tabane_comm
                             tabane_device tabane_lab tabane_program)
set(CMAKE_LINK_LIBRARY_USING_held "-Wl,--exclude-libs,<LINK_ITEM>")  # which adds nothing
set(CMAKE_LINK_LIBRARY_USING_held_SUPPORTED ON)

# The verbs of a slice, see tabane_module().
function(tabane_verbs name in_program)
  file(GLOB verbs CONFIGURE_DEPENDS verb.cc verb_*.cc)
  if(NOT verbs)
    return()
  endif()
  set(target tabane_${name}_verb)
  if(in_program)
    add_library(${target} OBJECT ${verbs})
    set_property(GLOBAL APPEND PROPERTY TABANE_VERBS ${target})
    if(TARGET tabane_${name})
      set_property(GLOBAL APPEND PROPERTY TABANE_HELD tabane_${name})
    endif()
  else()
    add_library(${target} MODULE ${verbs})
    get_property(held GLOBAL PROPERTY TABANE_HELD)
    list(JOIN held "," held)
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME tabane_${name}
                                               LINK_LIBRARY_OVERRIDE "held,${held}")
    target_link_libraries(${target} PRIVATE tabane::${name} tabane_build)
    target_link_options(${target} PRIVATE -Wl,-Bsymbolic-functions)
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tabane)
    set_property(GLOBAL APPEND PROPERTY TABANE_VERB_MODULES ${target})
  endif()
  target_compile_options(${target} PRIVATE ${tabane_cold})
endfunction()

function(tabane_module name)
  cmake_parse_arguments(ARG "IN_PROGRAM" "" "HEADERS;EXCEPT;EXTRA;DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cc)
  foreach(regex "^verb(_.*)?\\.cc$" "(^|/)bench[_./]" ${ARG_EXCEPT})
    list(FILTER sources EXCLUDE REGEX ${regex})
  endforeach()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_(test|fuzz)\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz|fuzz_main)\\.cc$")
  tabane_script_tests(${name}.script "" _test.py)
  set(library tabane_${name})
  if(sources)
    add_library(${library} STATIC ${sources} ${ARG_EXTRA})
    add_library(tabane::${name} ALIAS ${library})
    set_target_properties(${library} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${library} PUBLIC ${ARG_DEPENDS})
    target_compile_features(${library} PUBLIC cxx_std_20)
    tabane_unity(${library})
  endif()
  if(ARG_HEADERS)
    file(GLOB headers CONFIGURE_DEPENDS ${ARG_HEADERS})
    list(FILTER headers EXCLUDE REGEX "_test\\.h$|/bench[^/]*$")
    target_sources(${library}
                   PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
    set_property(GLOBAL APPEND PROPERTY TABANE_MODULES ${library})
  endif()
  tabane_verbs(${name} ${ARG_IN_PROGRAM})

  get_property(taken DIRECTORY PROPERTY TABANE_TESTS_TAKEN)
  list(REMOVE_ITEM tests ${taken})
  set(fork_tests ${tests})
  list(FILTER fork_tests INCLUDE REGEX "fork_test\\.cc$")
  list(FILTER tests EXCLUDE REGEX "fork_test\\.cc$")
  tabane_tests(${name} SOURCES ${tests} DEPENDS tabane::${name})
  if(NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "/tabane/(tools|studies)/")  # which look at no times
    set(alone SERIAL)
  endif()
  tabane_tests(${name}_fork SOURCES ${fork_tests} DEPENDS tabane::${name} LABELS fork ${alone})
endfunction()

# The header of GoogleTest, compiled once for all tests.
if(TABANE_TESTS)
  find_package(GTest REQUIRED)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/gtest_header.cc CONTENT "")
  add_library(tabane_gtest_header OBJECT ${PROJECT_BINARY_DIR}/gtest_header.cc)
  target_link_libraries(tabane_gtest_header PRIVATE GTest::gtest)
  target_compile_options(tabane_gtest_header PRIVATE ${tabane_cold})
  target_precompile_headers(tabane_gtest_header PRIVATE <gtest/gtest.h>)
endif()

# Compiles the target as tests are.
function(tabane_test_code target)
  target_link_libraries(${target} PRIVATE GTest::gtest)
  target_compile_options(${target} PRIVATE ${tabane_cold})
  tabane_unity(${target})
  target_precompile_headers(${target} REUSE_FROM tabane_gtest_header)
endfunction()

function(tabane_tests name)
  cmake_parse_arguments(ARG "SERIAL" "" "SOURCES;EXTRA;DEPENDS;LABELS" ${ARGN})
  set_property(DIRECTORY APPEND PROPERTY TABANE_TESTS_TAKEN ${ARG_SOURCES})
  if(NOT TABANE_TESTS OR (NOT ARG_SOURCES AND NOT ARG_EXTRA))
    return()
  endif()
  add_executable(${name}_test ${ARG_SOURCES} ${ARG_EXTRA})
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPENDS} GTest::gtest_main)
  tabane_test_code(${name}_test)
  add_dependencies(${name}_test tabane_loaded)
  set(tests ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake)
  set(program ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${name}_test>)
  add_custom_command(
    TARGET ${name}_test POST_BUILD
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=${program}" -DPREFIX=${name}.
            -DTESTS=${tests} -DLABELS=${ARG_LABELS} -DSERIAL=${ARG_SERIAL}
            "-DLEFT_OUT=${TABANE_LEFT_OUT}" -P ${PROJECT_SOURCE_DIR}/cmake/DiscoverSuites.cmake
    VERBATIM)
  if(NOT EXISTS ${tests})
    file(WRITE ${tests} "add_test(${name}_test_NOT_BUILT ${name}_test_NOT_BUILT)\n")
  endif()
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${tests})
endfunction()

function(tabane_test name command)
  cmake_parse_arguments(ARG "" "" "PROPERTIES" ${ARGN})
  get_filename_component(command ${command} ABSOLUTE)
  string(REGEX REPLACE "(.+\\.py)$" "Python3::Interpreter;\\1" command "${command}")
  if(TABANE_TESTS AND (Python3_FOUND OR NOT command MATCHES "^Python3"))
    add_test(NAME ${name} COMMAND ${command} ${ARG_UNPARSED_ARGUMENTS})
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 PROCESSORS 2 SKIP_RETURN_CODE 77
                                             ${ARG_PROPERTIES})
  endif()
endfunction()

function(tabane_script_tests prefix folder ending)
  file(GLOB scripts CONFIGURE_DEPENDS ${folder}*${ending})
  foreach(script IN LISTS scripts)
    string(REGEX REPLACE ".*/(.*)${ending}" "${prefix}.\\1" name ${script})
    file(STRINGS ${script} properties REGEX "^# CTest: ")
    string(REGEX REPLACE "# CTest: | " ";" properties "${properties}")
    tabane_test(${name} ${script} $<TARGET_FILE:tabane> PROPERTIES ${properties})
  endforeach()
endfunction()
