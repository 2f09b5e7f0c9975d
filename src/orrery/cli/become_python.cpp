// SPDX-License-Identifier: Apache-2.0
#include "orrery/cli/become_python.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "orrery/app/live_run.hpp"
#include "orrery/base/error.hpp"
#include "orrery/cli/run_text.hpp"

namespace orrery::cli {

void become_python(const Session& session, const std::string& python, const std::string& script,
                   const std::vector<std::string>& words) {
  app::LiveOptions options;
  options.launch.python = python;
  set_live_defaults(options, session);
  std::vector<std::string> line{options.launch.python, options.launch.package + "/" + script};
  line.insert(line.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : line) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::setenv("ORRERY_PYTHON", options.launch.python.c_str(), 1);
  ::execvp(pointers.front(), pointers.data());
  throw InputError{fmt::format("{}: {}; expected a Python interpreter", line.front(), std::strerror(errno))};
}

void refuse_option(const std::string& option, const std::string& value, const std::string& expected,
                   const std::string& nearest) {
  throw InputError{{.source = option,
                    .position = {},
                    .field = {},
                    .value = value,
                    .expected = expected,
                    .nearest = nearest}};
}

}  // namespace orrery::cli
