# Writes two sources: the lists of verbs and studies that verbs.cc files define, and what tells one
# build from another, for the program and its modules: the version, and a hash of the headers that
# both include.
#
# cmake -DFILES=PATH;… -DMODULES=tabane_SLICE_verb;… -DHEADERS=PATH;… -DVERSION=… -DVERBS=OUTPUT
#       -DBUILD=OUTPUT -P …
cmake_policy(VERSION 3.25)
set(groups Measure Tune Protect Solve)
# In this order inside their groups, before all others.
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
    string(REGEX REPLACE ".* " "" id ${verb})
    if(id MATCHES "_study$")
      set(group studies)
    elseif(NOT group)  # it is below another
      continue()
    endif()
    if(tabane_${slice}_verb IN_LIST MODULES)
      string(APPEND defined "constexpr Verb ${id}_head{${shown}.load = []() -> const Verb& {"
                            " return load_verb(\"${slice}\", \"${id}\"); }};\n")
      string(APPEND id _head)
    else()
      string(APPEND defined "extern const Verb ${id};\n")
    endif()
    list(APPEND in_${group} "&${id}")
    list(APPEND groups ${group})
  endforeach()
endforeach()

list(REMOVE_DUPLICATES groups)
list(REMOVE_ITEM groups studies)
set(verbs "")
foreach(group IN LISTS groups)
  foreach(name IN LISTS order)
    set(found ${in_${group}})
    list(FILTER found INCLUDE REGEX "^&${name}_verb")
    list(APPEND verbs ${found})
  endforeach()
  list(APPEND verbs ${in_${group}})  # all others
endforeach()
list(REMOVE_DUPLICATES verbs)
list(JOIN verbs ", " verbs)
list(JOIN in_studies ", " studies)
file(WRITE ${VERBS} "#include \"tabane/program/command.h\"

namespace tabane::program {

${defined}
constinit const Verb* const kVerbs[] = {${verbs}, nullptr};
constinit const Verb* const kStudies[] = {${studies}, nullptr};

}  // namespace tabane::program
")

set(hashes ${VERSION})
foreach(header IN LISTS HEADERS)
  file(SHA256 ${header} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 hash ${hashes})
file(WRITE ${BUILD} "extern \"C\" const char* tabane_build() { return \"${VERSION} ${hash}\"; }\n")
