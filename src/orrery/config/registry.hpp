// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Named implementations of a contract, each with its settings. A registry is an owned value: no globals, no
/// self-registration. An unknown name is answered with the known ones.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/check.hpp"
#include "orrery/config/spec.hpp"

namespace orrery::config {

template <class Contract, class Context>
class Registry {
 public:
  struct Entry {
    std::string name;
    std::string help;  ///< One line.
    std::vector<FieldDoc> fields;
    /// Reads the settings from a mapping and hands back a builder, so that input errors come before building.
    std::function<std::function<std::unique_ptr<Contract>(Context&)>(const Cursor&)> prepare;
    /// The settings with defaults filled in, as text.
    std::function<std::string(const Cursor&)> resolve;
  };

  void add(Entry entry) {
    for (const Entry& known : entries_) {
      ORRERY_CHECK(known.name != entry.name, "'{}' registered twice", entry.name);
    }
    entries_.push_back(std::move(entry));
  }
  [[nodiscard]] const std::vector<Entry>& all() const& { return entries_; }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Entry& entry : entries_) names.push_back(entry.name);
    return names;
  }
  /// `source` says where the name was given, for the error.
  [[nodiscard]] const Entry& get(const std::string& name, const std::string& source) const& {
    for (const Entry& entry : entries_) {
      if (entry.name == name) return entry;
    }
    throw InputError{{.source = source,
                      .position = {},
                      .field = {},
                      .value = name,
                      .expected = "expected one of: " + join(names(), ", "),
                      .nearest = nearest_name(name, names())}};
  }

 private:
  std::vector<Entry> entries_;
};

/// The entry of a model whose constructor takes (const Spec&, Context&).
template <class Model, HasFields Spec, class Contract, class Context>
[[nodiscard]] typename Registry<Contract, Context>::Entry describe_model(const std::string& name,
                                                                         const std::string& help) {
  return {.name = name,
          .help = help,
          .fields = describe_spec<Spec>(),
          .prepare =
              [](const Cursor& at) {
                return [spec = read_spec<Spec>(at)](Context& context) -> std::unique_ptr<Contract> {
                  return std::make_unique<Model>(spec, context);
                };
              },
          .resolve = [](const Cursor& at) { return write_spec(read_spec<Spec>(at)); }};
}

}  // namespace orrery::config
