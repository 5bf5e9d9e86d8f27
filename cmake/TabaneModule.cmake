# Libraries and tests of a folder. Sources are found, not listed: x.cc belongs to the library,
# x_test.cc to a test, x_fuzz.cc to a fuzzer and the test that shares its harness, bench.cc and
# bench_x.cc to bench/. What forks, measures or needs all PUs is tested in x_fork_test.cc, that of a
# library while nothing else runs. The text of x.cl becomes the constant kXSource of the library's
# namespace.
#
# tabane_module(NAME [IN_PROGRAM] [HEADERS PATTERN…] [EXCEPT REGEX…] [EXTRA …] DEPENDS …
#               PRIVATE_DEPENDS … [PRECOMPILE …] [TEST_EXTRA …] [TEST_DEPENDS …]):
#   a static library tabane_NAME, alias tabane::NAME, of the sources below this folder whose path
#   no REGEX matches, and EXTRA ones. With HEADERS it is installed with them. PRECOMPILE names the
#   large headers of others that most sources include. The verbs in verb.cc and verb_x.cc become a
#   part of the program if IN_PROGRAM, or else a module that it loads for them, with the library and
#   what this depends on. Tests that no earlier call took are made as NAME_test, with TEST_EXTRA,
#   and NAME_fork_test; both know what the library depends on, and TEST_DEPENDS.
# tabane_tests(NAME [SOURCES …] [EXTRA …] DEPENDS … [LABELS …] [SERIAL]):
#   one GoogleTest program NAME_test, of SOURCES, which are taken, and EXTRA ones, which other
#   programs may have, too; none without any. CTest runs each suite in a process of its own, and,
#   where SERIAL, nothing else meanwhile.
# tabane_test(NAME COMMAND… [PROPERTIES PROPERTY VALUE…]):
#   a test that is a command, or a script of this folder; skipped where that ends with 77.
#   PROCESSORS counts halves of PUs, of which `make test` gives CTest two per PU: 2 by default, 1
#   for a test that mostly waits, 4 for one that keeps two PUs busy. A high COST starts it early.
# tabane_script_tests(PREFIX FOLDER/ ENDING [PROPERTY VALUE…]):
#   each Python script NAME + ENDING of a folder is a test PREFIX.NAME, which gets the path of the
#   program. Those of a module, x_test.py, are tests without this call.
# tabane_loadable(PREFIX SOURCES…):
#   tells SOURCES where a module that is loaded is, see core/loadable_module.h, and its version,
#   which must be that of the program.
# tabane_unity(TARGET):
#   where TABANE_UNITY is on, compiles up to eight sources of one folder at once.

add_library(tabane_build_flags INTERFACE)
target_compile_options(
  tabane_build_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
                               -fno-math-errno)
# GCC 12 alone sees overlapping copies of 2^63 bytes in inlined std::string operations that its own
# library wrote (GCC bugs 105329 and 105651, mended in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  target_compile_options(tabane_build_flags INTERFACE -Wno-restrict -Wno-stringop-overflow
                                                 -Wno-stringop-overread -Wno-array-bounds)
endif()
# Sources compiled at once look to GCC like headers, which should keep to themselves what is theirs.
if(TABANE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tabane_build_flags INTERFACE -Wno-subobject-linkage)
endif()
set(tabane_cold -O1)  # for what has no hot loop: it compiles in less time
if(TABANE_SANITIZE)
  target_compile_options(
    tabane_build_flags INTERFACE -fsanitize=${TABANE_SANITIZE} -fno-omit-frame-pointer
                                 -fno-sanitize-recover=all)
  target_link_options(tabane_build_flags INTERFACE -fsanitize=${TABANE_SANITIZE})
endif()

function(tabane_unity target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${path}/..)
    string(MAKE_C_IDENTIFIER ${folder} folder)
    file(STRINGS ${path} several_times REGEX "hwy/foreach_target.h" LIMIT_COUNT 1)
    if(several_times)  # compiles itself, once for each target
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    else()
      math(EXPR batch "${count_${folder}} + 0")
      math(EXPR count_${folder} "${batch} + 1")
      math(EXPR batch "${batch} / 8")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${batch})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TABANE_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()

# The libraries all of which the program holds.
set_property(GLOBAL PROPERTY TABANE_IN_PROGRAM tabane_core tabane_simd tabane_team tabane_comm
                             tabane_device tabane_lab tabane_program)

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
      set_property(GLOBAL APPEND PROPERTY TABANE_IN_PROGRAM tabane_${name})
      target_link_libraries(${target} PUBLIC tabane::${name})
    endif()
    list(TRANSFORM verbs PREPEND "=")
  else()
    # Archives, of which only what is used gets in, and what is not tabane's; nothing of what the
    # program holds.
    get_property(held GLOBAL PROPERTY TABANE_IN_PROGRAM)
    set(needed tabane::${name})
    set(archives "")
    set(others "")
    while(needed)
      list(POP_FRONT needed each)
      string(REPLACE "tabane::" "tabane_" library ${each})
      if(library STREQUAL each)
        list(APPEND others ${each})
      elseif(NOT library IN_LIST held)
        list(APPEND archives $<TARGET_FILE:${library}>)
        get_target_property(depends ${library} LINK_LIBRARIES)
        list(APPEND needed ${depends})
      endif()
    endwhile()
    list(REMOVE_DUPLICATES archives)
    set(build ${PROJECT_BINARY_DIR}/modules/program/build.cc)
    set_source_files_properties(${build} PROPERTIES GENERATED ON)
    add_library(${target} MODULE ${verbs} ${build})
    add_dependencies(${target} tabane_build)
    target_link_libraries(
      ${target} PRIVATE -Wl,--start-group ${archives} -Wl,--end-group ${others})
    target_link_options(${target} PRIVATE -Wl,--as-needed)
    set_target_properties(
      ${target} PROPERTIES PREFIX "" OUTPUT_NAME tabane_${name}
                           INSTALL_RPATH_USE_LINK_PATH ON
                           LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/modules/program)
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tabane)
    list(TRANSFORM verbs PREPEND "${name}=")
    set_property(GLOBAL APPEND PROPERTY TABANE_VERB_MODULES ${target})
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE fmt::fmt tabane_build_flags)
  target_compile_options(${target} PRIVATE ${tabane_cold})
  set_property(GLOBAL APPEND PROPERTY TABANE_VERB_FILES ${verbs})
endfunction()

function(tabane_module name)
  cmake_parse_arguments(
    ARG "IN_PROGRAM" ""
    "HEADERS;EXCEPT;EXTRA;DEPENDS;PRIVATE_DEPENDS;PRECOMPILE;TEST_EXTRA;TEST_DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cc)
  foreach(regex "^verb(_.*)?\\.cc$" "(^|/)bench[_./]" ${ARG_EXCEPT})
    list(FILTER sources EXCLUDE REGEX ${regex})
  endforeach()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_(test|fuzz)\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz|fuzz_main)\\.cc$")
  tabane_script_tests(${name}.script "" _test.py)
  if(NOT sources)
    tabane_verbs(${name} ${ARG_IN_PROGRAM})
    return()
  endif()
  file(GLOB_RECURSE texts CONFIGURE_DEPENDS *.cl)
  foreach(path IN LISTS texts)
    get_filename_component(id ${path} NAME_WE)
    string(REGEX MATCH "^(.)(.*)" ignored ${id})
    string(TOUPPER ${CMAKE_MATCH_1} capital)
    set(constant "const char* const k${capital}${CMAKE_MATCH_2}Source")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    file(READ ${path} text)
    file(CONFIGURE OUTPUT ${id}_source.cc @ONLY CONTENT
         "namespace tabane::${name} {\nextern @constant@;\n@constant@ = R\"~~~(@text@)~~~\";\n}\n")
    list(APPEND ARG_EXTRA ${CMAKE_CURRENT_BINARY_DIR}/${id}_source.cc)
  endforeach()
  add_library(tabane_${name} STATIC ${sources} ${ARG_EXTRA})
  add_library(tabane::${name} ALIAS tabane_${name})
  set_target_properties(tabane_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  if(ARG_HEADERS)
    file(GLOB headers CONFIGURE_DEPENDS ${ARG_HEADERS})
    list(FILTER headers EXCLUDE REGEX "_test\\.h$|/bench[^/]*$")
    target_sources(
      tabane_${name}
      PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
    set_property(GLOBAL APPEND PROPERTY TABANE_MODULES tabane_${name})
  else()
    target_include_directories(tabane_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  endif()
  target_link_libraries(
    tabane_${name}
    PUBLIC ${ARG_DEPENDS}
    PRIVATE ${ARG_PRIVATE_DEPENDS} fmt::fmt $<BUILD_INTERFACE:tabane_build_flags>)
  target_compile_features(tabane_${name} PUBLIC cxx_std_20)
  tabane_unity(tabane_${name})
  target_precompile_headers(tabane_${name} PRIVATE ${ARG_PRECOMPILE})
  tabane_verbs(${name} ${ARG_IN_PROGRAM})

  get_property(taken DIRECTORY PROPERTY TABANE_TESTS_TAKEN)
  list(REMOVE_ITEM tests ${taken})
  set(fork_tests ${tests})
  list(FILTER fork_tests INCLUDE REGEX "fork_test\\.cc$")
  list(FILTER tests EXCLUDE REGEX "fork_test\\.cc$")
  set(common DEPENDS tabane::${name} fmt::fmt ${ARG_PRIVATE_DEPENDS} ${ARG_TEST_DEPENDS})
  tabane_tests(${name} SOURCES ${tests} EXTRA ${ARG_TEST_EXTRA} ${common})
  set(alone SERIAL)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tabane/(tools|studies)/")  # they look at no times
    set(alone)
  endif()
  tabane_tests(${name}_fork SOURCES ${fork_tests} ${common} LABELS fork ${alone})
endfunction()

# The header of GoogleTest, compiled once for all tests.
if(TABANE_TESTS)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/gtest_header.cc CONTENT "")
  add_library(tabane_gtest_header OBJECT ${PROJECT_BINARY_DIR}/gtest_header.cc)
  target_link_libraries(tabane_gtest_header PRIVATE GTest::gtest tabane_build_flags)
  target_compile_options(tabane_gtest_header PRIVATE ${tabane_cold})
  target_precompile_headers(tabane_gtest_header PRIVATE <gtest/gtest.h>)
endif()

function(tabane_tests name)
  if(NOT TABANE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "SERIAL" "" "SOURCES;EXTRA;DEPENDS;LABELS" ${ARGN})
  set_property(DIRECTORY APPEND PROPERTY TABANE_TESTS_TAKEN ${ARG_SOURCES})
  if(NOT ARG_SOURCES AND NOT ARG_EXTRA)
    return()
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name}_test ${ARG_SOURCES} ${ARG_EXTRA})
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPENDS} GTest::gtest_main tabane_build_flags)
  target_compile_options(${name}_test PRIVATE ${tabane_cold})
  tabane_unity(${name}_test)
  if(TARGET tabane_opencl)  # loaded, not linked
    add_dependencies(${name}_test tabane_opencl)
  endif()
  if(NOT OpenMP::OpenMP_CXX IN_LIST ARG_DEPENDS)  # which defines macros that the header asks for
    target_precompile_headers(${name}_test REUSE_FROM tabane_gtest_header)
  endif()
  set(tests ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake)
  add_custom_command(
    TARGET ${name}_test POST_BUILD
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${name}_test> -DPREFIX=${name}.
            -DTESTS=${tests} -DLABELS=${ARG_LABELS} -DSERIAL=${ARG_SERIAL}
            -P ${PROJECT_SOURCE_DIR}/cmake/DiscoverSuites.cmake
    VERBATIM)
  if(NOT EXISTS ${tests})
    file(WRITE ${tests} "add_test(${name}_test_NOT_BUILT ${name}_test_NOT_BUILT)\n")
  endif()
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${tests})
endfunction()

function(tabane_loadable prefix)
  set(installed ${CMAKE_INSTALL_FULL_LIBDIR}/tabane)
  file(RELATIVE_PATH from_program ${CMAKE_INSTALL_FULL_BINDIR} ${installed})
  set(places "TABANE_VERSION=\"${PROJECT_VERSION}\""
             "TABANE_BUILD_DIR=\"${PROJECT_BINARY_DIR}\""
             "TABANE_${prefix}_BUILD_DIR=\"${CMAKE_CURRENT_BINARY_DIR}\""
             "TABANE_${prefix}_FROM_PROGRAM=\"${from_program}\""
             "TABANE_${prefix}_INSTALL_DIR=\"${installed}\"")
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_DEFINITIONS "${places}")
endfunction()

function(tabane_test name command)
  cmake_parse_arguments(ARG "" "" "PROPERTIES" ${ARGN})
  if(command MATCHES "\\.(py|sh)$")
    get_filename_component(command ${command} ABSOLUTE)
  endif()
  if(command MATCHES "\\.py$")
    set(command Python3::Interpreter ${command})
  endif()
  if(TABANE_TESTS AND (Python3_FOUND OR NOT command MATCHES "^Python3"))
    add_test(NAME ${name} COMMAND ${command} ${ARG_UNPARSED_ARGUMENTS})
    set_tests_properties(${name} PROPERTIES TIMEOUT 300 PROCESSORS 2 SKIP_RETURN_CODE 77
                                             ${ARG_PROPERTIES})
  endif()
endfunction()

function(tabane_script_tests prefix folder ending)
  file(GLOB scripts CONFIGURE_DEPENDS ${folder}*${ending})
  foreach(script IN LISTS scripts)
    string(REGEX REPLACE ".*/(.*)${ending}" "${prefix}.\\1" name ${script})
    tabane_test(${name} ${script} $<TARGET_FILE:tabane> PROPERTIES ${ARGN})
  endforeach()
endfunction()
