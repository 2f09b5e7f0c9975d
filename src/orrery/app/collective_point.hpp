// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One algorithm at one size, simulated.
#include "orrery/app/collective_plan.hpp"

namespace orrery::app {

struct CollectivePoint {
  Bytes size;
  collectives::Choice choice;
};

struct PointContext {
  const CollectivePlan& plan;
  const CollectiveOptions& options;
  topology::Router& router;
  const std::function<bool()>& wants_stop;
  engine::Observer* observer = nullptr;
};

/// Everything of a row but `is_best`.
[[nodiscard]] CollectiveRow run_point(const CollectivePoint& point, const PointContext& context);

}  // namespace orrery::app
