# tabane_published_files(OUTPUT): writes a source with the texts of data/published/*.json. A new
# file or a change of one configures the build again.
function(tabane_published_files output)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/published/*.json)
  list(SORT files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  set(entries "")
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} text)
    string(APPEND entries "    {\"${name}\", R\"~~~(${text})~~~\"},\n")
  endforeach()
  file(
    CONFIGURE
    OUTPUT ${output}
    CONTENT
      "#include \"tabane/lab/record/published_files.h\"

namespace tabane::lab {
namespace {
constexpr PublishedFile kFiles[] = {
@entries@};
}  // namespace
std::span<const PublishedFile> published_files() { return kFiles; }
}  // namespace tabane::lab
"
    @ONLY)
endfunction()
