# Installs hconv, builds the example from the installed package and by the g++ command of its comment, runs both, and
# compares what they print with expected.txt; and makes sure that the program needs no library beyond the system's.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE error)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "'${command}' ended with ${result}.\n${output}${error}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${work}")
set(prefix "${work}/prefix")
run("${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}")

run("${CMAKE_COMMAND}" -G Ninja "-DCMAKE_MAKE_PROGRAM=${make_program}" "-DCMAKE_CXX_COMPILER=${compiler}"
    "-DCMAKE_PREFIX_PATH=${prefix}" -S "${source}" -B "${work}/build")
run("${CMAKE_COMMAND}" --build "${work}/build")
file(GLOB_RECURSE library "${prefix}/lib*/libhconv.a")
run("${compiler}" -std=c++17 "${source}/edges.cpp" -I "${prefix}/include" "${library}" -ldl -lpthread
    -o "${work}/edges")

file(READ "${source}/expected.txt" expected)
foreach(program "${work}/build/edges" "${work}/edges")
  run("${program}")
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "${program} printed\n${output}instead of\n${expected}")
  endif()
  run(ldd "${program}")
  string(REGEX MATCHALL "lib[A-Za-z0-9_+-]+\\.so" needed "${output}")
  list(REMOVE_ITEM needed libc.so libm.so libdl.so libpthread.so libstdc++.so libgcc_s.so)
  if(needed)
    message(FATAL_ERROR "${program} needs ${needed} besides the C++ library, libdl and libpthread.")
  endif()
endforeach()
