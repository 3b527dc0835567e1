# The product:
#
#   hconv_runtime  the objects of runtime/
#   hconv          libhconv.a: runtime, all variants and the Halide runtime in one object; tests may reach its internals
#   hconv_shared   libhconv.so of the same objects; exports the C API only

file(GLOB_RECURSE runtime_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/runtime/*.cpp")
list(LENGTH runtime_sources runtime_count)
if(runtime_count EQUAL 0)
  message(FATAL_ERROR "runtime/ holds no source.")
endif()

add_library(hconv_runtime OBJECT ${runtime_sources})
target_compile_features(hconv_runtime PUBLIC cxx_std_17)
target_include_directories(hconv_runtime
  PUBLIC "${PROJECT_SOURCE_DIR}/runtime/include"
  PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/runtime" "${manifest_dir}" "${HCONV_VARIANTS_DIR}"
          "${PROJECT_BINARY_DIR}/tuned")
target_link_libraries(hconv_runtime PRIVATE hconv_warnings Halide::Runtime Threads::Threads)

# Only the files that include the resource table wait for it; all else compiles beside the generators.
foreach(source IN LISTS runtime_sources)
  file(STRINGS "${source}" mentions REGEX "#include \"variant_resources\\.inc\"" LIMIT_COUNT 1)
  if(mentions)
    set_property(SOURCE "${source}" APPEND PROPERTY OBJECT_DEPENDS "${HCONV_RESOURCES_INC}")
  endif()
endforeach()

set_property(SOURCE "${PROJECT_SOURCE_DIR}/runtime/tuned_tables.cpp" APPEND PROPERTY
  OBJECT_DEPENDS "${HCONV_TUNED_TABLES_INC}")

# Halide's runtime is made of weak symbols: a program with Halide code of its own would silently share one with hconv,
# with its error handler, thread pool and allocator, whatever release it comes from. So all is linked into one object,
# in which the runtime's names are local; without its section groups, for which the linker would take the program's.
set(halide_runtime "${HCONV_VARIANTS_DIR}/hconv_halide_runtime.o")
set(halide_ungrouped "${PROJECT_BINARY_DIR}/halide_ungrouped.o")
set(whole "${PROJECT_BINARY_DIR}/hconv_whole.o")
set(variant_objects ${HCONV_VARIANT_OBJECTS})
list(REMOVE_ITEM variant_objects "${halide_runtime}")
set(halide_names "${PROJECT_BINARY_DIR}/halide_names.txt")
add_custom_command(
  OUTPUT "${whole}"
  COMMAND "${CMAKE_CXX_COMPILER}" -r -nostdlib -Wl,--force-group-allocation -o "${halide_ungrouped}"
          "${halide_runtime}"
  COMMAND "${CMAKE_CXX_COMPILER}" -r -nostdlib -o "${whole}" "$<TARGET_OBJECTS:hconv_runtime>" ${variant_objects}
          "${halide_ungrouped}"
  COMMAND "${CMAKE_NM}" --defined-only --extern-only --format=just-symbols "${halide_runtime}" > "${halide_names}"
  COMMAND "${CMAKE_OBJCOPY}" "--localize-symbols=${halide_names}" "${whole}"
  DEPENDS hconv_runtime "$<TARGET_OBJECTS:hconv_runtime>" ${HCONV_VARIANT_OBJECTS}
  COMMENT "Linking libhconv.a's object"
  COMMAND_EXPAND_LISTS VERBATIM)

set_source_files_properties(${HCONV_VARIANT_OBJECTS} "${whole}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
set(export_map "${PROJECT_SOURCE_DIR}/cmake/hconv.map")
add_library(hconv STATIC "${whole}")
add_library(hconv_shared SHARED $<TARGET_OBJECTS:hconv_runtime> ${HCONV_VARIANT_OBJECTS})
target_link_options(hconv_shared PRIVATE "LINKER:--version-script=${export_map}" "LINKER:--no-undefined")
set_target_properties(hconv_shared PROPERTIES LINK_DEPENDS "${export_map}" VERSION ${PROJECT_VERSION}
                                              SOVERSION ${PROJECT_VERSION_MAJOR})
foreach(library hconv hconv_shared)
  add_dependencies(${library} variant_objects)
  add_library(hconv::${library} ALIAS ${library})
  set_target_properties(${library} PROPERTIES OUTPUT_NAME hconv LINKER_LANGUAGE CXX)
  target_compile_features(${library} PUBLIC cxx_std_17)
  target_include_directories(${library} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>" "$<INSTALL_INTERFACE:include>")
endforeach()
target_link_libraries(hconv PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
target_link_libraries(hconv_shared PRIVATE Threads::Threads ${CMAKE_DL_LIBS})

# For tests of runtime/'s own parts: link this beside hconv and include "runtime/..." headers.
add_library(hconv_internals INTERFACE)
target_include_directories(hconv_internals INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/runtime"
                                                     "${manifest_dir}" "${HCONV_VARIANTS_DIR}")
target_link_libraries(hconv_internals INTERFACE hconv Halide::Runtime)
