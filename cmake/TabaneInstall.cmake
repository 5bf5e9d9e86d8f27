# What `cmake --install` puts where. All of it can be moved: nothing installed needs the prefix, but
# for programs of users, which may look there for modules (tabane/core/loadable_module.h).
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY TABANE_MODULES)
get_property(verb_modules GLOBAL PROPERTY TABANE_VERB_MODULES)

# tabane::tabane: every library. The program has the target name `tabane`.
add_library(tabane_all INTERFACE)
add_library(tabane::tabane ALIAS tabane_all)
set_target_properties(tabane_all PROPERTIES EXPORT_NAME tabane)
target_link_libraries(tabane_all INTERFACE ${modules})

install(
  TARGETS ${modules} tabane_all EXPORT tabane
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
set(package DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tabane COMPONENT dev)
install(EXPORT tabane FILE tabaneTargets.cmake NAMESPACE tabane:: ${package})
write_basic_package_version_file(tabaneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/tabaneConfig.cmake ${PROJECT_BINARY_DIR}/tabaneConfigVersion.cmake ${package})

# A static library names its users' libraries behind itself: users before what they use.
list(REVERSE modules)
list(TRANSFORM modules PREPEND "-l")
list(JOIN modules " " pc_libraries)
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/tabane.pc.in tabane.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tabane.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT dev)

install(TARGETS tabane RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# Man page and completions are made by the program itself, from the definitions of its options.
set(made ${PROJECT_BINARY_DIR}/documents)
add_custom_command(
  OUTPUT ${made}/tabane.1
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${made}  # pages of removed verbs
  COMMAND tabane generate-docs ${PROJECT_SOURCE_DIR}/docs/tabane.1.in ${made}
  DEPENDS tabane ${verb_modules} docs/tabane.1.in
  VERBATIM)
add_custom_target(tabane_documents ALL DEPENDS ${made}/tabane.1)
install(FILES ${made}/tabane.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(DIRECTORY ${made}/man1/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${made}/tabane DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${made}/_tabane DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${made}/tabane.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# As they lie in the sources, so that their links hold.
file(GLOB_RECURSE documents CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} docs/*.md
     docs/*.json packaging/*.md python/*.md tabane/*.md)
foreach(document IN LISTS documents ITEMS README.md GLOSSARY.md LICENSE)
  get_filename_component(folder ${document} DIRECTORY)
  install(FILES ${document} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder} COMPONENT doc)
endforeach()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

# Debian packages, made by CPack with the dependencies that dpkg-shlibdeps computes: the program and
# its modules, those for an MPI apart, the libraries, and the documents.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The tabane authors <tabane@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "measures and tunes parallel machines")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME tabane)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS libopenblas0-serial)  # computed: any libopenblas0
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libtabane-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libfmt-dev, libhwloc-dev, libhwy-dev")
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_COMPONENT_OPENMPI_DEPENDS program)
set(CPACK_COMPONENT_MPICH_DEPENDS program)
include(CPack)
