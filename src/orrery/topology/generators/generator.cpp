// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/generators/generator.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "orrery/base/check.hpp"

namespace orrery::topology {

#define ORRERY_GENERATOR(name) Generator name##_generator();
#include "orrery/topology/generators/generators.def"
#undef ORRERY_GENERATOR

GeneratorRegistry builtin_generators() {
  GeneratorRegistry registry;
#define ORRERY_GENERATOR(name) registry.add(name##_generator());
#include "orrery/topology/generators/generators.def"
#undef ORRERY_GENERATOR
  return registry;
}

namespace {

/// "fat-tree", "rail-optimised" and the like mean what they say.
std::string usual_spelling(std::string_view name) {
  std::string spelling{name};
  std::ranges::replace(spelling, '-', '_');
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOther{
      {{"rail_optimised", "rail_optimized"},
       {"rail", "rail_optimized"},
       {"fat_tree", "fattree"},
       {"fullyconnected", "fully_connected"},
       {"full_mesh", "fully_connected"},
       {"clos", "fattree"}}};
  const auto found = std::ranges::find(kOther, spelling, [](const auto& pair) { return pair.first; });
  return found == kOther.end() ? spelling : std::string{found->second};
}

}  // namespace

void GeneratorRegistry::add(Generator generator) {
  ORRERY_CHECK(find(generator.name) == nullptr, "generator '{}' is registered twice", generator.name);
  ORRERY_CHECK(generator.build != nullptr, "generator '{}' cannot build", generator.name);
  generators_.push_back(std::move(generator));
}

std::vector<std::string> GeneratorRegistry::names() const {
  std::vector<std::string> names;
  names.reserve(generators_.size());
  for (const Generator& generator : generators_) names.push_back(generator.name);
  return names;
}

const Generator* GeneratorRegistry::find(std::string_view name) const& {
  const auto found = std::ranges::find(generators_, usual_spelling(name), &Generator::name);
  return found == generators_.end() ? nullptr : &*found;
}

}  // namespace orrery::topology
