# The compilers of the variants:
#
#   hconv_codegen     static library, the custom CUDA back end (codegen/)
#   hconv_generators  Halide's generator program for all generators (generators/ with schedules/)

set(HCONV_PRELUDE "${PROJECT_SOURCE_DIR}/codegen/prelude:${PROJECT_SOURCE_DIR}/codegen/prelude/device")
file(GLOB_RECURSE HCONV_PRELUDE_HEADERS CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/codegen/prelude/*.cuh" "${PROJECT_SOURCE_DIR}/codegen/prelude/*.h")

if(HCONV_VARIANTS_FROM)
  return()
endif()

file(GLOB codegen_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/codegen/*.cpp")
file(GLOB generator_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/generators/*.cpp" "${PROJECT_SOURCE_DIR}/schedules/*.cpp")

add_library(hconv_codegen STATIC ${codegen_sources})
target_include_directories(hconv_codegen PUBLIC "${PROJECT_SOURCE_DIR}")
target_compile_definitions(hconv_codegen PUBLIC HCONV_PRELUDE="${HCONV_PRELUDE}" HCONV_NVCC="${HCONV_NVCC}")
target_link_libraries(hconv_codegen PUBLIC Halide::Halide PRIVATE hconv_warnings)

add_executable(hconv_generators ${generator_sources})
target_link_libraries(hconv_generators PRIVATE hconv_codegen Halide::Generator hconv_warnings)
# GenGen looks the generators up in a registry that their static initialisers fill.
set_target_properties(hconv_generators PROPERTIES ENABLE_EXPORTS OFF)
