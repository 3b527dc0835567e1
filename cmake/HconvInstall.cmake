# `cmake --install`: the two libraries, the headers and a CMake package for find_package(hconv).

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/hconv")
install(TARGETS hconv hconv_shared EXPORT hconvTargets)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/runtime/include/hconv" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT hconvTargets NAMESPACE hconv:: DESTINATION "${package_dir}")

configure_package_config_file(cmake/hconvConfig.cmake.in "${PROJECT_BINARY_DIR}/hconvConfig.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hconvConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/hconvConfig.cmake" "${PROJECT_BINARY_DIR}/hconvConfigVersion.cmake"
  DESTINATION "${package_dir}")
