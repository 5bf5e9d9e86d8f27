# tabane_embed_text(OUTPUT FILE HEADER NAMESPACE NAME): writes a source with the text of FILE as the
# constant NAME that HEADER declares. A change of FILE configures the build again.
function(tabane_embed_text output file header namespace name)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  file(
    CONFIGURE
    OUTPUT ${output}
    CONTENT
      "#include \"@header@\"

namespace @namespace@ {
const char* const @name@ = R\"~~~(@text@)~~~\";
}  // namespace @namespace@
"
    @ONLY)
endfunction()
