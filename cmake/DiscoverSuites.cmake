# Writes one CTest entry for each suite of a GoogleTest program. Where all tests of a suite skip
# themselves, it is skipped; a failure beside them is one. Tests LEFT_OUT (SUITE.*;SUITE.TEST) are
# never run.
#
# cmake -DPROGRAM=[EMULATOR;…]FILE -DPREFIX=… -DTESTS=FILE -DLABELS=… -DSERIAL=… -DLEFT_OUT=…
#       -P DiscoverSuites.cmake
list(JOIN PROGRAM "]==] [==[" words)
list(JOIN LEFT_OUT ":" left_out)
execute_process(
  COMMAND ${PROGRAM} --gtest_list_tests --gtest_filter=-${left_out}
  OUTPUT_VARIABLE listed TIMEOUT 60 COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n[^ \n]+\\." suites "\n${listed}")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "[\n.]" "" name "${suite}")
  string(APPEND tests "add_test([==[${PREFIX}${name}]==] [==[${words}]==] "
                      "--gtest_filter=${name}.*-${left_out})\n"
                      "set_tests_properties([==[${PREFIX}${name}]==] PROPERTIES "
                      "TIMEOUT 900 LABELS [==[${LABELS}]==] RUN_SERIAL ${SERIAL} PROCESSORS 2 "
                      "SKIP_REGULAR_EXPRESSION "
                      "[==[PASSED  \\] 0 tests\\.\n(\\[  SKIPPED \\][^\n]*\n)+$]==])\n")
endforeach()
file(WRITE ${TESTS} "${tests}")
