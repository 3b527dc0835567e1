# Cache variables, and the compiler flags that every target of the project shares.
#
#   hconv_warnings            interface target: warnings are errors
#   hconv_enable_sanitizers() instruments the targets made after it when HCONV_SANITIZE is on

set(HCONV_CUDA_ARCHS "90a" CACHE STRING "GPU architectures that CUDA variants hold machine code for, e.g. 80;90a")
set(HCONV_CUDA_PTX "80" CACHE STRING "Architecture of the PTX that every other GPU compiles at load time")
set(HCONV_NVCC "" CACHE FILEPATH "nvcc >= 12.8 (empty: looked for on PATH, then in .venv)")
set(HCONV_VARIANTS_FROM "" CACHE PATH "Build folder whose compiled variants to take instead of generating them")
option(HCONV_BUILD_TESTS "Build the tests" ON)
option(HCONV_SANITIZE "Address and undefined-behaviour sanitizers in runtime/, tools/ and tests/" OFF)

get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT multi_config)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
# The GPU machine gets bin/ and lib/ side by side: see scripts/pack-gpu.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

add_library(hconv_warnings INTERFACE)
# g++ 12 reports values of std::optional as maybe uninitialised where they are not.
target_compile_options(hconv_warnings INTERFACE -Wall -Wextra -Werror $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)

function(hconv_enable_sanitizers)
  if(HCONV_SANITIZE)
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    # -O0, because compiling a checked suite takes much longer than running it.
    set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY COMPILE_OPTIONS ${flags} -O0)
    set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY LINK_OPTIONS ${flags})
  endif()
endfunction()
