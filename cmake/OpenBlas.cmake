# tabane_openblas: OpenBLAS without threads of its own, if the system has that variant. Another one
# would start a thread per PU as soon as the program starts, and teams could no longer fork. The
# variants have the same name at run time, so programs remember the folder.
find_path(OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-serial
                                                 ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial)
find_library(OPENBLAS_LIBRARY openblas PATH_SUFFIXES openblas-serial)
if(OPENBLAS_INCLUDE AND OPENBLAS_LIBRARY AND NOT TARGET tabane_openblas)
  add_library(tabane_openblas INTERFACE IMPORTED)
  target_include_directories(tabane_openblas INTERFACE ${OPENBLAS_INCLUDE})
  target_link_libraries(tabane_openblas INTERFACE ${OPENBLAS_LIBRARY})
endif()
