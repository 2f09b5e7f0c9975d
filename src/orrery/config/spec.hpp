// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Documents to typed settings and back. A Spec is a struct with defaults and one static list of fields:
///
///   struct StarSpec {
///     std::int64_t hosts = 0;
///     Bandwidth bandwidth;
///     template <class Visitor> static void fields(Visitor&& field) {
///       field("hosts", &StarSpec::hosts, "Number of hosts.", config::Rule{.required = true, .min = 1, .max = 1e6});
///       field("bandwidth", &StarSpec::bandwidth, "Of each link.", config::Rule{.required = true, .positive = true});
///     }
///   };
///
/// From that list come parsing, unknown-key errors, ranges, `orrery describe`, and the resolved dump.
#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "orrery/base/text.hpp"
#include "orrery/base/units.hpp"
#include "orrery/config/document.hpp"

namespace orrery::config {

/// What a field accepts beyond its type.
struct Rule {
  bool required = false;
  bool positive = false;  ///< Dimensioned values: zero is refused.
  double min = -9.2e18;   ///< Plain numbers: inclusive bounds.
  double max = 9.2e18;
  std::vector<std::string> choices{};  ///< Strings: the accepted words; empty = any.
};

/// One line of `orrery describe`.
struct FieldDoc {
  std::string name;
  std::string type;
  std::string default_value;  ///< "" when required.
  std::string help;
  bool required = false;
};

template <class T>
concept HasFields = requires { T::fields([](auto&&...) {}); };

/// How one type is read, written and named. Scalars are defined in spec.cpp.
template <class T>
struct Codec;

#define ORRERY_SCALAR_CODEC(Type)                         \
  template <>                                             \
  struct Codec<Type> {                                    \
    static std::string name(const Rule& rule);            \
    static Type read(const Cursor& at, const Rule& rule); \
    static std::string write(const Type& value);          \
  }
ORRERY_SCALAR_CODEC(bool);
ORRERY_SCALAR_CODEC(std::int64_t);
ORRERY_SCALAR_CODEC(double);
ORRERY_SCALAR_CODEC(std::string);
ORRERY_SCALAR_CODEC(Duration);
ORRERY_SCALAR_CODEC(Bytes);
ORRERY_SCALAR_CODEC(Bandwidth);
ORRERY_SCALAR_CODEC(Flops);
#undef ORRERY_SCALAR_CODEC

template <HasFields Spec>
[[nodiscard]] Spec read_spec(const Cursor& at);
template <HasFields Spec>
[[nodiscard]] std::string write_spec(const Spec& spec);

template <class T>
struct Codec<std::optional<T>> {
  static std::string name(const Rule& rule) { return Codec<T>::name(rule); }
  static std::optional<T> read(const Cursor& at, const Rule& rule) {
    if (at.node().kind == Kind::kNull) return std::nullopt;
    return Codec<T>::read(at, rule);
  }
  static std::string write(const std::optional<T>& value) { return value ? Codec<T>::write(*value) : "null"; }
};

template <class T>
struct Codec<std::vector<T>> {
  static std::string name(const Rule& rule) { return "list of " + Codec<T>::name(rule); }
  static std::vector<T> read(const Cursor& at, const Rule& rule) {
    std::vector<T> values;
    const std::size_t count = at.size();
    values.reserve(count);
    for (std::size_t i = 0; i < count; ++i) values.push_back(Codec<T>::read(at.item(i), rule));
    return values;
  }
  static std::string write(const std::vector<T>& values) {
    std::string text = "[";
    for (const T& value : values) text += (text.size() > 1 ? ", " : "") + Codec<T>::write(value);
    return text + "]";
  }
};

template <HasFields T>
struct Codec<T> {
  static std::string name(const Rule&) { return "mapping"; }
  static T read(const Cursor& at, const Rule&) { return read_spec<T>(at); }
  static std::string write(const T& value) { return write_spec(value); }
};

template <class Spec>
[[nodiscard]] std::vector<std::string> field_names() {
  std::vector<std::string> names;
  Spec::fields([&](const char* name, auto, const char*, const Rule& = {}) { names.emplace_back(name); });
  return names;
}

template <HasFields Spec>
Spec read_spec(const Cursor& at) {
  at.expect_keys(field_names<Spec>());
  Spec spec;
  Spec::fields([&](const char* name, auto member, const char*, const Rule& rule = {}) {
    using T = std::remove_cvref_t<decltype(spec.*member)>;
    if (at.has(name)) {
      const Cursor value = at.at(name);
      if (rule.required && value.node().kind == Kind::kNull) value.fail("required, but nothing is given");
      spec.*member = Codec<T>::read(value, rule);
    } else if (rule.required) {
      at.fail(std::string{"required key '"} + name + "' is missing");
    }
  });
  return spec;
}

/// {name: value, ...}: every field with its resolved value.
template <HasFields Spec>
std::string write_spec(const Spec& spec) {
  std::string text = "{";
  Spec::fields([&](const char* name, auto member, const char*, const Rule& = {}) {
    using T = std::remove_cvref_t<decltype(spec.*member)>;
    text += (text.size() > 1 ? ", " : "") + std::string{name} + ": " + Codec<T>::write(spec.*member);
  });
  return text + "}";
}

template <HasFields Spec>
[[nodiscard]] std::vector<FieldDoc> describe_spec() {
  std::vector<FieldDoc> docs;
  const Spec defaults;
  Spec::fields([&](const char* name, auto member, const char* help, const Rule& rule = {}) {
    using T = std::remove_cvref_t<decltype(defaults.*member)>;
    docs.push_back({.name = name,
                    .type = Codec<T>::name(rule),
                    .default_value = rule.required ? "" : Codec<T>::write(defaults.*member),
                    .help = help,
                    .required = rule.required});
  });
  return docs;
}

}  // namespace orrery::config
