# Compiler settings shared by every target, carried by the interface target orrery_options.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -O2: -O3 made the event loop slower when measured (docs/decisions/0002-build.md).
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(ORRERY_CCACHE ccache)
if(ORRERY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${ORRERY_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ORRERY_CCACHE})
endif()

add_library(orrery_options INTERFACE)
target_include_directories(orrery_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(orrery_options INTERFACE
  -ffp-contract=off -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast
  -Wdouble-promotion -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi)
if(ORRERY_WERROR)
  target_compile_options(orrery_options INTERFACE -Werror)
endif()
if(NOT ORRERY_BENCH)
  target_compile_definitions(orrery_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(ORRERY_SANITIZE)
  target_compile_options(orrery_options INTERFACE -fsanitize=${ORRERY_SANITIZE} -fno-omit-frame-pointer -g)
  target_link_options(orrery_options INTERFACE -fsanitize=${ORRERY_SANITIZE})
endif()
