# Writes two sources: the lists of verbs and studies that verbs.cc files define, and what tells one
# build from another, for the program and its modules: the version, and a hash of the headers that
# both include.
#
# cmake -DFILES=PATH;… -DMODULES=tabane_SLICE_verb;… -DHEADERS=PATH;… -DVERSION=… -DVERBS=OUTPUT
#       -DBUILD=OUTPUT -P …
cmake_policy(VERSION 3.25)
# Verbs are in this order, before all others.
set(groups Measure Tune Protect Solve)
set(order survey compare report study time tune explain run encrypt decrypt verify keygen rekey epub
    linpack scg slalom matmul mine)
set(text "=[ \n]*\"[^\"]*\"([ \n]*\"[^\"]*\")*,[ \n]*")
set(head "{[ \n]*(\\.name ${text}\\.what ${text}(\\.group = \"([A-Za-z]+)\",)?)")
foreach(file IN LISTS FILES)
  string(REGEX REPLACE ".*/(.*)/.*" "\\1" slice ${file})
  file(READ ${file} source)
  string(REGEX MATCHALL "\nextern constinit const Verb [a-z0-9_]+" verbs "${source}")
  foreach(verb IN LISTS verbs)
    if(NOT source MATCHES "${verb}${head}")
      message(FATAL_ERROR "${file}:${verb} does not begin with .name and .what")
    endif()
    set(shown "${CMAKE_MATCH_1}")
    set(group "${CMAKE_MATCH_5}")
    string(REGEX MATCH "([a-z0-9_]+)_(verb|study)$" id ${verb})
    if(NOT group AND CMAKE_MATCH_2 STREQUAL "verb")  # it is below another
      continue()
    endif()
    list(FIND groups "${group}" at)
    list(FIND order ${CMAKE_MATCH_1} place)
    string(REPLACE -1 99 key "${at} ${place} ${file}")
    if(tabane_${slice}_verb IN_LIST MODULES)
      string(APPEND defined "constexpr Verb ${id}_head{${shown}.load = []() -> const Verb& {"
                            " return load_verb(\"${slice}\", \"${id}\"); }};\n")
      string(APPEND id _head)
    else()
      string(APPEND defined "extern const Verb ${id};\n")
    endif()
    list(APPEND in_${CMAKE_MATCH_2} "${key} &${id}")
  endforeach()
endforeach()
foreach(kind verb study)
  list(SORT in_${kind} COMPARE NATURAL)
  list(TRANSFORM in_${kind} REPLACE ".* " "")
  list(JOIN in_${kind} ", " ${kind}_list)
endforeach()
file(WRITE ${VERBS} "#include \"tabane/program/command.h\"

namespace tabane::program {

${defined}
constinit const Verb* const kVerbs[] = {${verb_list}, nullptr};
constinit const Verb* const kStudies[] = {${study_list}, nullptr};

}  // namespace tabane::program
")

foreach(header IN LISTS HEADERS)
  file(SHA256 ${header} of_header)
  string(SHA256 hash "${hash}${of_header}")
endforeach()
file(WRITE ${BUILD} "extern \"C\" const char* tabane_build() { return \"${VERSION} ${hash}\"; }\n")
