// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The messages of a Chakra execution trace (schema 0.0.4 and later) as they are, before anything is made of them.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::chakra {

/// What an attribute holds, in the order of the schema's fields: field 3 is a double, 4 a list of them, and so on.
enum class ValueType : std::uint8_t {
  kNone,
  kDouble,
  kFloat,
  kInt32,
  kInt64,
  kUint32,
  kUint64,
  kSint32,
  kSint64,
  kFixed32,
  kFixed64,
  kSfixed32,
  kSfixed64,
  kBool,
  kString,
  kBytes,
};
inline constexpr std::uint32_t kFirstValueField = 3;
inline constexpr std::uint32_t kLastValueField = 32;

/// "int64", "string", ...
[[nodiscard]] std::string_view to_text(ValueType type);
[[nodiscard]] std::optional<ValueType> parse_value_type(std::string_view text);
/// An integer of any width, or a bool.
[[nodiscard]] bool is_integer(ValueType type);
[[nodiscard]] bool is_signed(ValueType type);
/// A string or bytes.
[[nodiscard]] bool is_textual(ValueType type);

/// A name with one of 30 kinds of value. Numbers are kept as 64 bits: integers extended by their sign, doubles and
/// floats as their pattern; `type` says how to read them.
struct Attribute {
  std::string name{};
  std::string doc{};
  ValueType type = ValueType::kNone;
  bool is_list = false;
  std::uint64_t number = 0;
  std::string text{};
  std::vector<std::uint64_t> numbers{};
  std::vector<std::string> texts{};

  [[nodiscard]] static Attribute of_int64(std::string name, std::int64_t value);
  [[nodiscard]] static Attribute of_uint64(std::string name, std::uint64_t value);
  [[nodiscard]] static Attribute of_bool(std::string name, bool value);
  [[nodiscard]] static Attribute of_double(std::string name, double value);
  [[nodiscard]] static Attribute of_string(std::string name, std::string value);
  [[nodiscard]] static Attribute of_numbers(std::string name, ValueType type,
                                            std::vector<std::uint64_t> values);
  bool operator==(const Attribute&) const = default;
};

enum class NodeType : std::uint32_t {
  kInvalid = 0,
  kMetadata = 1,
  kMemLoad = 2,
  kMemStore = 3,
  kComp = 4,
  kCommSend = 5,
  kCommRecv = 6,
  kCommColl = 7,
  kStorage = 8,
  kBatch = 9,
  kCheckpoint = 10,
};
/// "COMP_NODE", ...; "" when the schema has no name for it.
[[nodiscard]] std::string_view to_text(NodeType type);
[[nodiscard]] std::optional<NodeType> parse_node_type(std::string_view text);

/// Inputs or outputs of an operator, as the texts the tracer made of them.
struct IoInfo {
  std::string values{};
  std::string shapes{};
  std::string types{};
  bool operator==(const IoInfo&) const = default;
};

struct Node {
  std::uint64_t id = 0;
  std::string name{};
  NodeType type = NodeType::kInvalid;
  std::vector<std::uint64_t> ctrl_deps{};
  std::vector<std::uint64_t> data_deps{};
  std::uint64_t start_time_micros = 0;
  std::uint64_t duration_micros = 0;
  std::optional<IoInfo> inputs{};
  std::optional<IoInfo> outputs{};
  std::vector<Attribute> attributes{};

  /// As new, with the memory kept.
  void clear();
  [[nodiscard]] const Attribute* find(std::string_view attribute) const;
  bool operator==(const Node&) const = default;
};

/// The first message of a file.
struct GlobalMetadata {
  std::string version{};
  std::vector<Attribute> attributes{};
  bool operator==(const GlobalMetadata&) const = default;
};

/// What new files say they are.
inline constexpr std::string_view kSchemaVersion = "0.0.4";

/// What a reader accepts at the most; far above any real trace.
struct Limits {
  std::size_t message_bytes = std::size_t{64} << 20;
  std::size_t attributes = 65'536;     ///< Of one node.
  std::size_t values = 4'000'000;      ///< Dependencies and list entries of one node.
  std::size_t name_bytes = 1U << 20U;  ///< Of a node's or an attribute's name.
};

}  // namespace orrery::chakra
