# The targets of factz, shared by a build of it and by an installed package:
#
#   factz::shared    libfactz.so
#   factz::static    libfactz.a with what it needs
#   factz::factz     one of the two: the shared one, unless factz_USE_STATIC_LIBS is on
#   factz::fortran   the module `factz`, compiled by the caller's own compiler (a .mod file fits one compiler
#                    only), together with factz::factz; made by factz_add_fortran_target()
#
# Reads FACTZ_INCLUDE_DIR, FACTZ_SHARED_LIBRARY, FACTZ_STATIC_LIBRARY, FACTZ_FORTRAN_SOURCE, and, within a
# build of factz, FACTZ_BUILD_TARGET, the target that makes the libraries.

if(NOT TARGET factz::shared)
  add_library(factz::shared SHARED IMPORTED GLOBAL)
  set_target_properties(factz::shared PROPERTIES
    IMPORTED_LOCATION "${FACTZ_SHARED_LIBRARY}"
    IMPORTED_SONAME "libfactz.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${FACTZ_INCLUDE_DIR}")

  add_library(factz::static STATIC IMPORTED GLOBAL)
  # What the Rust standard library takes from the system (`rustc --print native-static-libs`), but for
  # libgcc_s: the compiler itself links the unwinder, the shared one or, with -static, the one in libgcc_eh.
  set_target_properties(factz::static PROPERTIES
    IMPORTED_LOCATION "${FACTZ_STATIC_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${FACTZ_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "util;rt;pthread;m;dl;c")

  if(FACTZ_BUILD_TARGET)
    add_dependencies(factz::shared ${FACTZ_BUILD_TARGET})
    add_dependencies(factz::static ${FACTZ_BUILD_TARGET})
  endif()

  add_library(factz::factz INTERFACE IMPORTED GLOBAL)
  if(factz_USE_STATIC_LIBS)
    set_target_properties(factz::factz PROPERTIES INTERFACE_LINK_LIBRARIES factz::static)
  else()
    set_target_properties(factz::factz PROPERTIES INTERFACE_LINK_LIBRARIES factz::shared)
  endif()
endif()

# Makes factz::fortran where the project has Fortran enabled; a macro's caller may ask for it again.
function(factz_add_fortran_target)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(TARGET factz::fortran OR NOT "Fortran" IN_LIST languages)
    return()
  endif()
  set(modules "${CMAKE_CURRENT_BINARY_DIR}/factz_modules")
  add_library(factz_fortran STATIC EXCLUDE_FROM_ALL "${FACTZ_FORTRAN_SOURCE}")
  set_target_properties(factz_fortran PROPERTIES
    Fortran_MODULE_DIRECTORY "${modules}" POSITION_INDEPENDENT_CODE ON)
  target_include_directories(factz_fortran INTERFACE "${modules}")
  target_link_libraries(factz_fortran PUBLIC factz::factz)
  add_library(factz::fortran ALIAS factz_fortran)
endfunction()
