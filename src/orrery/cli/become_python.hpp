// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Commands whose work is Python's, as torch is: they check their words here, then this process becomes the script.
#include <string>
#include <vector>

#include "orrery/cli/session.hpp"

namespace orrery::cli {

/// `script`: within the package. `python`: an interpreter, or "" for the one Orrery is installed in; what the script
/// starts of Orrery uses the same. Does not come back; InputError when it cannot be started.
[[noreturn]] void become_python(const Session& session, const std::string& python, const std::string& script,
                                const std::vector<std::string>& words);

/// InputError about an option.
[[noreturn]] void refuse_option(const std::string& option, const std::string& value,
                                const std::string& expected, const std::string& nearest = {});

}  // namespace orrery::cli
