# schedules/variants.txt -> one compiled object a variant, in <build>/variants.
#
# A row becomes NAME.o and NAME.h; on CUDA also NAME.cu (the kernels as text) and NAME.resources (what ptxas said).
# What others use:
#
#   HCONV_VARIANTS_DIR           holds all of these, variants.inc (a C++ table) and variant_resources.inc
#   HCONV_VARIANT_OBJECTS        the object files
#   variant_sources              target: all NAME.cu exist; its property HCONV_CUDA_SOURCES lists them
#   variant_objects              target: all objects exist
#   hconv_halide_runtime.o       the Halide runtime that all variants share, one of HCONV_VARIANT_OBJECTS
#   hconv_add_opencl_variants()  the float32 CUDA schedules once more, through Halide's own OpenCL back end

set(HCONV_MANIFEST "${PROJECT_SOURCE_DIR}/schedules/variants.txt" CACHE FILEPATH "The variants to build")
set(manifest "${HCONV_MANIFEST}")
set(manifest_reader "${PROJECT_SOURCE_DIR}/cmake/manifest.py")
set(manifest_dir "${PROJECT_BINARY_DIR}/variants")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${manifest}" "${manifest_reader}")
execute_process(
  COMMAND "${HCONV_PYTHON}" "${manifest_reader}" "${manifest}" "${manifest_dir}"
  RESULT_VARIABLE result ERROR_VARIABLE error)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "The variant manifest is wrong.\n${error}")
endif()

if(HCONV_VARIANTS_FROM)
  cmake_path(ABSOLUTE_PATH HCONV_VARIANTS_FROM BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE from)
  set(HCONV_VARIANTS_DIR "${from}/variants")
else()
  set(HCONV_VARIANTS_DIR "${manifest_dir}")
endif()

set(nvcc_archs ${HCONV_CUDA_ARCHS})
if(HCONV_CUDA_PTX)
  list(APPEND nvcc_archs "ptx${HCONV_CUDA_PTX}")
endif()
list(JOIN nvcc_archs "," nvcc_archs)

# One run of a generator: hconv_generate(NAME OUTPUTS file... GENERATOR name TARGET halide-target PARAMS key=value...
# DEPENDS file...). The function that it compiles is called NAME.
function(hconv_generate name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "GENERATOR;TARGET" "OUTPUTS;PARAMS;DEPENDS")
  if(HCONV_VARIANTS_FROM)
    foreach(output IN LISTS arg_OUTPUTS)
      if(NOT EXISTS "${output}")
        message(FATAL_ERROR "${output} does not exist: build ${HCONV_VARIANTS_FROM} first.")
      endif()
    endforeach()
    return()
  endif()
  add_custom_command(
    OUTPUT ${arg_OUTPUTS}
    COMMAND hconv_generators -g ${arg_GENERATOR} -f ${name} -n ${name} -o "${HCONV_VARIANTS_DIR}" -e object,c_header
            target=${arg_TARGET} ${arg_PARAMS}
    DEPENDS hconv_generators ${arg_DEPENDS}
    COMMENT "Generating ${name}"
    VERBATIM)
endfunction()

# A line of variants.cmake. The parameters after the Halide target are the generator's.
function(hconv_variant name algorithm type target generator halide_target)
  set(stem "${HCONV_VARIANTS_DIR}/${name}")
  set(outputs "${stem}.o" "${stem}.h")
  set(params ${ARGN} variant=${name})
  set(depends "")
  if(target STREQUAL "cuda")
    list(APPEND outputs "${stem}.cu" "${stem}.resources")
    set(archs "${nvcc_archs}")
    if(algorithm STREQUAL "wgmma")
      set(archs "90a") # no other architecture has the instruction
    endif()
    list(APPEND params nvcc=${HCONV_NVCC} nvcc_archs=${archs} prelude=${HCONV_PRELUDE}
         out_dir=${HCONV_VARIANTS_DIR})
    set(depends "${HCONV_NVCC}" ${HCONV_PRELUDE_HEADERS})
    set_property(GLOBAL APPEND PROPERTY HCONV_CUDA_SOURCES "${stem}.cu")
    set_property(GLOBAL APPEND PROPERTY HCONV_RESOURCES "${stem}.resources")
    if(algorithm STREQUAL "direct" AND type STREQUAL "f32" AND NOT "split=1" IN_LIST ARGN)
      set_property(GLOBAL APPEND PROPERTY HCONV_OPENCL_CANDIDATES "${name}")
      set_property(GLOBAL PROPERTY HCONV_PARAMS_${name} "${generator};${ARGN}")
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY HCONV_OBJECTS "${stem}.o")
  hconv_generate(${name} GENERATOR ${generator} TARGET ${halide_target} OUTPUTS ${outputs} PARAMS ${params}
                 DEPENDS ${depends})
endfunction()

# NAME.o in the variants' folder: a Halide runtime for the target.
function(hconv_generate_runtime name target)
  if(NOT HCONV_VARIANTS_FROM)
    add_custom_command(
      OUTPUT "${HCONV_VARIANTS_DIR}/${name}.o"
      COMMAND hconv_generators -r ${name} -o "${HCONV_VARIANTS_DIR}" -e object target=${target}
      DEPENDS Halide::Halide # not hconv_generators: no change of ours changes the runtime
      COMMENT "Generating ${name}"
      VERBATIM)
  endif()
endfunction()

include("${manifest_dir}/variants.cmake")
hconv_generate_runtime(hconv_halide_runtime x86-64-linux-cuda-user_context)

get_property(HCONV_VARIANT_OBJECTS GLOBAL PROPERTY HCONV_OBJECTS)
list(APPEND HCONV_VARIANT_OBJECTS "${HCONV_VARIANTS_DIR}/hconv_halide_runtime.o")
get_property(cuda_sources GLOBAL PROPERTY HCONV_CUDA_SOURCES)
get_property(resource_files GLOBAL PROPERTY HCONV_RESOURCES)

set(HCONV_RESOURCES_INC "${manifest_dir}/variant_resources.inc")
add_custom_command(
  OUTPUT "${HCONV_RESOURCES_INC}"
  COMMAND "${HCONV_PYTHON}" "${PROJECT_SOURCE_DIR}/cmake/resources.py" "${HCONV_RESOURCES_INC}" ${resource_files}
  DEPENDS ${resource_files} "${PROJECT_SOURCE_DIR}/cmake/resources.py"
  COMMENT "Collecting the kernels' resources"
  VERBATIM)

add_custom_target(variant_objects DEPENDS ${HCONV_VARIANT_OBJECTS} "${HCONV_RESOURCES_INC}")
add_custom_target(variant_sources DEPENDS ${cuda_sources})
set_property(TARGET variant_sources PROPERTY HCONV_CUDA_SOURCES ${cuda_sources})

# Makes the static library hconv_opencl_variants: every float32 direct CUDA row, compiled by Halide's OpenCL back end
# without the custom passes, as the function NAME_opencl (declared in NAME_opencl.h; arguments as for NAME), with a Halide
# runtime of its own. Its include folder also has opencl_variants.inc: a row HCONV_OPENCL_VARIANT(NAME, NAME_opencl) each.
function(hconv_add_opencl_variants)
  get_property(names GLOBAL PROPERTY HCONV_OPENCL_CANDIDATES)
  set(objects "${HCONV_VARIANTS_DIR}/hconv_opencl_runtime.o")
  set(rows "// HCONV_OPENCL_VARIANT(cuda_name, function)\n")
  set(target x86-64-linux-opencl-user_context)
  hconv_generate_runtime(hconv_opencl_runtime ${target})
  foreach(name IN LISTS names)
    get_property(params GLOBAL PROPERTY HCONV_PARAMS_${name})
    list(POP_FRONT params generator)
    set(stem "${HCONV_VARIANTS_DIR}/${name}_opencl")
    hconv_generate(${name}_opencl GENERATOR ${generator} TARGET ${target}-no_runtime
                   OUTPUTS "${stem}.o" "${stem}.h" PARAMS ${params} variant=${name}_opencl)
    list(APPEND objects "${stem}.o")
    string(APPEND rows "HCONV_OPENCL_VARIANT(${name}, ${name}_opencl)\n")
  endforeach()
  file(CONFIGURE OUTPUT "${manifest_dir}/opencl_variants.inc" CONTENT "${rows}" @ONLY)
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  add_library(hconv_opencl_variants STATIC ${objects})
  set_target_properties(hconv_opencl_variants PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(hconv_opencl_variants PUBLIC "${HCONV_VARIANTS_DIR}" "${manifest_dir}")
  target_link_libraries(hconv_opencl_variants PUBLIC Halide::Runtime Threads::Threads ${CMAKE_DL_LIBS})
endfunction()
