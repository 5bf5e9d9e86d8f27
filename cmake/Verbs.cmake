# Writes two sources: the lists of verbs and studies that verbs.cc files define, and what tells one
# build from another, for the program and its modules: the version, and a hash of the headers that
# both include.
#
# cmake -DFILES=[MODULE]=PATH;… -DHEADERS=PATH;… -DVERSION=… -DVERBS=OUTPUT -DBUILD=OUTPUT -P …
cmake_policy(VERSION 3.25)
set(groups Measure Tune Protect Solve)
set(literal "\"[^\"]*\"")
set(defined "")
foreach(file IN LISTS FILES)
  string(REGEX MATCH "^([^=]*)=(.*)$" ignored ${file})
  set(module ${CMAKE_MATCH_1})
  set(path ${CMAKE_MATCH_2})
  file(READ ${path} text)
  while(TRUE)
    string(FIND "${text}" "\nextern constinit const Verb " begin)
    if(begin EQUAL -1)
      break()
    endif()
    string(SUBSTRING "${text}" ${begin} -1 text)
    string(FIND "${text}" "};\n" end)
    string(SUBSTRING "${text}" 0 ${end} verb)
    string(SUBSTRING "${text}" ${end} -1 text)
    string(REGEX MATCH "Verb ([a-z0-9_]+)" id "${verb}")
    set(id ${CMAKE_MATCH_1})
    string(REGEX MATCH "\\.name = ${literal}" name "${verb}")
    string(REGEX MATCH "\\.what =[ \n]*${literal}([ \n]*${literal})*" what "${verb}")
    string(REGEX MATCH "\\.group = \"([A-Za-z]+)\"" group "${verb}")
    if(group)
      set(shown "${group},\n    ")
      set(group ${CMAKE_MATCH_1})
    elseif(id MATCHES "_study$")
      set(group studies)
      set(shown "")
    else()
      continue()
    endif()
    if(NOT name OR NOT what)
      message(FATAL_ERROR "${path}: ${id} lacks .name or .what")
    elseif(module)
      string(APPEND defined "constexpr Verb ${id}_head{\n    ${name},\n    ${what},\n"
                            "    ${shown}.load = []() -> const Verb& {"
                            " return load_verb(\"${module}\", \"${id}\"); }};\n")
      string(APPEND id _head)
    else()
      string(APPEND defined "extern const Verb ${id};\n")
    endif()
    list(APPEND in_${group} "&${id}")
    list(APPEND groups ${group})
  endwhile()
endforeach()

list(REMOVE_DUPLICATES groups)
list(REMOVE_ITEM groups studies)
set(verbs "")
foreach(group IN LISTS groups)
  list(APPEND verbs ${in_${group}})
endforeach()
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
