// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A topology generator: a name, a list of fields and a pure function from those to a draft. The same
/// fields are read from `topology: {star: {...}}` in a file and from "star:hosts=64,..." on a command line.
/// A new one is one file here, one line in generators.def and one in CMakeLists.txt.
#include <functional>
#include <string>
#include <vector>

#include "orrery/config/spec.hpp"
#include "orrery/topology/generators/draft.hpp"

namespace orrery::topology {

struct Generator {
  std::string name;
  std::string help;  ///< One line, shown by `orrery describe`.
  std::vector<config::FieldDoc> fields;
  /// Reads its fields from a mapping and builds. InputError names the field that is wrong.
  std::function<Draft(const config::Cursor&)> build;
};

/// An owned list of generators; order is that of generators.def.
class GeneratorRegistry {
 public:
  /// A duplicate name is a bug.
  void add(Generator generator);
  [[nodiscard]] const std::vector<Generator>& all() const& { return generators_; }
  const std::vector<Generator>& all() const&& = delete;
  [[nodiscard]] std::vector<std::string> names() const;
  /// The generator of that name, or nullptr.
  [[nodiscard]] const Generator* find(std::string_view name) const&;
  const Generator* find(std::string_view name) const&& = delete;

 private:
  std::vector<Generator> generators_;
};

[[nodiscard]] GeneratorRegistry builtin_generators();

/// Joins a spec and a `Draft build(const Spec&, const config::Cursor&)` to a Generator; the cursor is for
/// errors that involve several fields.
template <config::HasFields Spec>
// NOLINTNEXTLINE(performance-unnecessary-value-param): they are moved.
[[nodiscard]] Generator describe_generator(std::string name, std::string help,
                                           Draft (*build)(const Spec&, const config::Cursor&)) {
  return {.name = std::move(name),
          .help = std::move(help),
          .fields = config::describe_spec<Spec>(),
          .build = [build](const config::Cursor& at) { return build(config::read_spec<Spec>(at), at); }};
}

}  // namespace orrery::topology
