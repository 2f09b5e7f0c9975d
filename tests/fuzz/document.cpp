// SPDX-License-Identifier: Apache-2.0
// Goal: no text breaks the document reader or a spec; both answer with a value or an InputError.
#include <cstdint>
#include <string_view>

#include "orrery/config/spec.hpp"

namespace {

using namespace orrery;

struct Inner {
  Duration latency{};
  std::optional<Bytes> size;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("latency", &Inner::latency, "", config::Rule{.positive = true});
    field("size", &Inner::size, "");
  }
};

/// One field of every kind.
struct Everything {
  bool flag = false;
  std::int64_t whole = 0;
  double real = 0;
  std::string word;
  Bandwidth bandwidth;
  Flops flops;
  std::vector<std::int64_t> list;
  std::vector<Inner> inner;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("flag", &Everything::flag, "");
    field("whole", &Everything::whole, "", config::Rule{.min = -10, .max = 1e6});
    field("real", &Everything::real, "");
    field("word", &Everything::word, "", config::Rule{.choices = {"one", "two"}});
    field("bandwidth", &Everything::bandwidth, "", config::Rule{.positive = true});
    field("flops", &Everything::flops, "");
    field("list", &Everything::list, "");
    field("inner", &Everything::inner, "");
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  try {
    const auto document =
        config::Document::parse(text, "fuzz", {.bytes = 1 << 20, .nodes = 20'000, .depth = 32});
    const auto spec = config::read_spec<Everything>(config::Cursor{document});
    // What was read must be readable when written.
    const auto again = config::Document::parse(config::write_spec(spec), "written");
    static_cast<void>(config::read_spec<Everything>(config::Cursor{again}));
  } catch (const InputError&) {
  }
  try {
    std::string head;
    static_cast<void>(config::Document::from_line(text, "fuzz", head));
  } catch (const InputError&) {
  }
  return 0;
}
