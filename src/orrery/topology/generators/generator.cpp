// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/generators/generator.hpp"

#include <algorithm>

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
  const auto found = std::ranges::find(generators_, name, &Generator::name);
  return found == generators_.end() ? nullptr : &*found;
}

}  // namespace orrery::topology
