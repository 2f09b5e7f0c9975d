// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The nodes of one trace file in order, whatever its form.
#include <memory>
#include <string>
#include <string_view>

#include "orrery/base/error.hpp"
#include "orrery/base/pinned.hpp"
#include "orrery/chakra/byte_source.hpp"
#include "orrery/chakra/node.hpp"

namespace orrery::chakra {

class NodeSource : Pinned {
 public:
  NodeSource(std::string name, const Limits& limits) : name_{std::move(name)}, limits_{limits} {}
  virtual ~NodeSource() = default;
  /// False at the end. InputError, with file and place, for what cannot be read.
  virtual bool next(Node& node) = 0;
  /// The same, but only nodes of `type`; cheaper where the form allows to pass over the others.
  virtual bool next_of(NodeType type, Node& node);
  /// Where the node last read stands: "byte 120".
  [[nodiscard]] virtual std::string place() const = 0;
  /// The node last read as its file has it, length included; "" where the form is not that of ET files.
  [[nodiscard]] virtual std::string_view frame() const { return {}; }

  [[nodiscard]] const GlobalMetadata& metadata() const { return metadata_; }
  /// The first message as the file has it; see frame().
  [[nodiscard]] const std::string& metadata_frame() const { return metadata_frame_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// The error "name: place: node 7 'matmul': field: 'value': expected".
  [[nodiscard]] InputError error(const Node& node, std::string_view field, std::string value,
                                 std::string expected, std::string nearest = {}) const;

 protected:
  [[noreturn]] void fail(std::string place, std::string expected) const;
  [[nodiscard]] const Limits& limits() const { return limits_; }
  GlobalMetadata metadata_;
  std::string metadata_frame_;

 private:
  std::string name_;
  Limits limits_;
};

/// An ET file.
[[nodiscard]] std::unique_ptr<NodeSource> read_et(std::unique_ptr<ByteSource> bytes, std::string name,
                                                  const Limits& limits = {});
/// JSON: ours, what Chakra's jsonizer writes, or a "workload_graph" as Chakra's feeder reads it.
[[nodiscard]] std::unique_ptr<NodeSource> read_json(std::unique_ptr<ByteSource> bytes, std::string name,
                                                    const Limits& limits = {});
/// Whether a file of this name holds JSON: .json or .json.gz.
[[nodiscard]] bool is_json_name(std::string_view path);
/// By the name of the file.
[[nodiscard]] std::unique_ptr<NodeSource> open_nodes(const std::string& path, const Limits& limits = {});

}  // namespace orrery::chakra
