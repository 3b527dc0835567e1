# schedules/tuned/DEVICE.txt -> tuned_tables.inc, which runtime/tuned_tables.cpp includes. There may be no table.
#
# hconv_embed_tuned_tables(OUTPUT NAME=FILE...): a rule that checks the tables and writes OUTPUT. Messages of the library
# call a table NAME. A faulty table stops the build with file, line and a sentence.

add_executable(hconv_embed_tuned_tables "${PROJECT_SOURCE_DIR}/cmake/embed_tuned_tables.cpp"
  "${PROJECT_SOURCE_DIR}/runtime/tuned_table.cpp")
target_include_directories(hconv_embed_tuned_tables PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/runtime"
  "${PROJECT_SOURCE_DIR}/runtime/include")
target_link_libraries(hconv_embed_tuned_tables PRIVATE hconv_warnings)

function(hconv_embed_tuned_tables output)
  set(files ${ARGN})
  list(TRANSFORM files REPLACE "^[^=]*=" "")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND hconv_embed_tuned_tables "${output}" ${ARGN}
    DEPENDS hconv_embed_tuned_tables ${files}
    COMMENT "Embedding tuned tables"
    VERBATIM)
endfunction()

file(GLOB tuned_tables RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/schedules/tuned/*.txt")
list(TRANSFORM tuned_tables REPLACE "(.*)" "\\1=${PROJECT_SOURCE_DIR}/\\1")
set(HCONV_TUNED_TABLES_INC "${PROJECT_BINARY_DIR}/tuned/tuned_tables.inc")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/tuned")
hconv_embed_tuned_tables("${HCONV_TUNED_TABLES_INC}" ${tuned_tables})
