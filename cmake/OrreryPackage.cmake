# What goes into the Python package `orrery`: the install component "python". The build tree has the same
# shape (build/PRESET/package/orrery/{bin,catalog}), so that the program finds ../catalog in both.
set(ORRERY_PACKAGE_DIR ${PROJECT_BINARY_DIR}/package/orrery)
set(CMAKE_INSTALL_MESSAGE LAZY)
add_custom_target(orrery_package)  # Everything that the package needs to be built.

# orrery_package_target(TARGET [SUBDIRECTORY]) ships a program or a loadable module.
function(orrery_package_target target)
  set(place orrery)
  if(ARGC GREATER 1)
    set(place orrery/${ARGV1})
  endif()
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/package/${place}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/package/${place})
  install(TARGETS ${target}
    RUNTIME DESTINATION ${place} COMPONENT python
    LIBRARY DESTINATION ${place} COMPONENT python)
  add_dependencies(orrery_package ${target})
endfunction()

# orrery_package_directory(DIRECTORY NAME) ships a folder of data.
function(orrery_package_directory directory name)
  file(MAKE_DIRECTORY ${ORRERY_PACKAGE_DIR})
  file(CREATE_LINK ${directory} ${ORRERY_PACKAGE_DIR}/${name} SYMBOLIC)
  install(DIRECTORY ${directory}/ DESTINATION orrery/${name} COMPONENT python OPTIONAL)
endfunction()
