// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A collective's result in the forms it is written in.
#include "orrery/app/collective.hpp"
#include "orrery/timeline/manifest.hpp"

namespace orrery::app {

[[nodiscard]] timeline::Manifest manifest_of(const CollectiveResult& result);

}  // namespace orrery::app
