# schedules/tuned/DEVICE.txt -> tuned_tables.inc, which runtime/tuned_tables.cpp includes. There may be no table.
#
# hconv_embed_tuned_tables(OUTPUT FOLDER): a rule that checks the *.txt of a folder, which is relative to the project, and
# writes OUTPUT. A faulty table stops the build with file, line and a sentence.

add_executable(hconv_embed_tuned_tables "${PROJECT_SOURCE_DIR}/cmake/embed_tuned_tables.cpp"
  "${PROJECT_SOURCE_DIR}/runtime/tuned_table.cpp")
target_include_directories(hconv_embed_tuned_tables PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/runtime"
  "${PROJECT_SOURCE_DIR}/runtime/include")
target_link_libraries(hconv_embed_tuned_tables PRIVATE hconv_warnings)

function(hconv_embed_tuned_tables output folder)
  file(GLOB names RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.txt")
  set(arguments "")
  set(files "")
  foreach(name IN LISTS names)
    list(APPEND arguments "${name}=${PROJECT_SOURCE_DIR}/${name}")
    list(APPEND files "${PROJECT_SOURCE_DIR}/${name}")
  endforeach()
  cmake_path(GET output PARENT_PATH made)
  file(MAKE_DIRECTORY "${made}")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND hconv_embed_tuned_tables "${output}" ${arguments}
    DEPENDS hconv_embed_tuned_tables ${files}
    COMMENT "Embedding tuned tables"
    VERBATIM)
endfunction()

set(HCONV_TUNED_TABLES_INC "${PROJECT_BINARY_DIR}/tuned/tuned_tables.inc")
hconv_embed_tuned_tables("${HCONV_TUNED_TABLES_INC}" schedules/tuned)
