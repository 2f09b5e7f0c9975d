# The library orrery_version: "orrery/version.hpp" with the version and the git commit of the source tree.
# The commit is looked up by every build, but stands in one source file of its own: a new commit recompiles
# that file and links again, nothing else.
set(generated ${PROJECT_BINARY_DIR}/generated)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/VERSION)
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.hpp.in ${generated}/orrery/version.hpp @ONLY)

find_package(Git QUIET)
set(write_version ${CMAKE_COMMAND}
  -DGIT=${GIT_EXECUTABLE} -DSOURCE=${PROJECT_SOURCE_DIR} -DTEMPLATE=${CMAKE_CURRENT_LIST_DIR}/version.cpp.in
  -DOUTPUT=${generated}/version.cpp -P ${CMAKE_CURRENT_LIST_DIR}/WriteVersion.cmake)
execute_process(COMMAND ${write_version} COMMAND_ERROR_IS_FATAL ANY)
add_custom_target(orrery_commit COMMAND ${write_version} BYPRODUCTS ${generated}/version.cpp
  COMMENT "Looking up the commit" VERBATIM)

add_library(orrery_version STATIC ${generated}/version.cpp)
add_library(orrery::version ALIAS orrery_version)
add_dependencies(orrery_version orrery_commit)
target_link_libraries(orrery_version PUBLIC orrery_options)
