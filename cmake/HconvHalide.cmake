# Finds the tools: Python, Halide from its wheel, and nvcc from PATH or from its wheels.
#
# Sets HCONV_PYTHON, HCONV_NVCC, HCONV_CUOBJDUMP (may be empty) and the targets Halide::Halide, Halide::Generator and
# Halide::Runtime.

set(venv "${PROJECT_SOURCE_DIR}/.venv")
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
set(HCONV_PYTHON "${Python3_EXECUTABLE}")

# Straight to the wheel's own package: the one that it puts in the environment's share/ also wants Python's headers.
if(NOT Halide_DIR)
  execute_process(
    COMMAND "${HCONV_PYTHON}" -c "import sysconfig; print(sysconfig.get_paths()['platlib'])"
    OUTPUT_VARIABLE site_packages OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(wheel_package "${site_packages}/halide/lib64/cmake/Halide")
  if(NOT EXISTS "${wheel_package}")
    message(FATAL_ERROR "Halide was not found in ${site_packages}: run scripts/setup, or set Halide_DIR.")
  endif()
  set(Halide_DIR "${wheel_package}" CACHE PATH "Folder of HalideConfig.cmake")
endif()
set(CMAKE_DISABLE_FIND_PACKAGE_Halide_Python ON) # its CMake helpers for Python extensions are of no use here
find_package(Halide 21 REQUIRED COMPONENTS Halide shared)
find_package(Threads REQUIRED)

# True when ${candidate} is an nvcc that knows all architectures of the release preset (sm_120 came with 12.8).
function(hconv_is_recent_nvcc valid candidate)
  execute_process(COMMAND "${candidate}" --version OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE result)
  if(result EQUAL 0 AND text MATCHES "release ([0-9]+\\.[0-9]+)" AND CMAKE_MATCH_1 VERSION_GREATER_EQUAL 12.8)
    return()
  endif()
  set(${valid} FALSE PARENT_SCOPE)
endfunction()

file(GLOB wheel_tools "${venv}/lib/python3*/site-packages/nvidia/cu13/bin")
foreach(tool nvcc cuobjdump)
  string(TOUPPER "HCONV_${tool}" variable)
  if(NOT ${variable})
    unset(${variable} CACHE)
    set(validator "")
    if(tool STREQUAL "nvcc")
      set(validator VALIDATOR hconv_is_recent_nvcc)
    endif()
    find_program(${variable} ${tool} HINTS ENV PATH PATHS ${wheel_tools} NO_CMAKE_SYSTEM_PATH
      ${validator})
  endif()
endforeach()
if(NOT HCONV_NVCC AND NOT HCONV_VARIANTS_FROM)
  message(FATAL_ERROR "No nvcc >= 12.8 on PATH or in ${venv}: run scripts/setup, or set HCONV_NVCC.")
endif()
message(STATUS "hconv: nvcc ${HCONV_NVCC}, cuobjdump ${HCONV_CUOBJDUMP}, Halide ${Halide_VERSION}")
