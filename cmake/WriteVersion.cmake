# Writes OUTPUT from TEMPLATE with the commit of SOURCE; leaves it untouched when nothing changed.
# A source tree that is not itself a repository (an unpacked archive, perhaps inside another repository) has
# no commit: "unknown".
set(ORRERY_COMMIT unknown)
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(ORRERY_COMMIT ${commit})
    execute_process(COMMAND ${GIT} -C ${SOURCE} diff --quiet HEAD -- src python catalog
      RESULT_VARIABLE changed ERROR_QUIET)
    if(changed)
      string(APPEND ORRERY_COMMIT -dirty)
    endif()
  endif()
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
