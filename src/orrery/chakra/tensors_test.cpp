// SPDX-License-Identifier: Apache-2.0
// Goal: the tensors of a node are found in both forms, and nowhere else.
// Method: nodes as generators and as PyTorch's tracer write them, and texts that look alike.
#include "orrery/chakra/tensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::chakra {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using workload::TensorUse;

std::vector<TensorUse> tensors_of(const Node& node) {
  std::vector<TensorUse> uses;
  append_tensors(node, uses);
  return uses;
}

Node with_list(const std::string& name, std::vector<std::string> texts) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = ValueType::kString;
  attribute.is_list = true;
  attribute.texts = std::move(texts);
  Node node;
  node.attributes.push_back(std::move(attribute));
  return node;
}

TEST(Tensors, NamesFollowedByBytes) {
  EXPECT_THAT(tensors_of(with_list("inputs", {"x", "1024", "w", "8", "none", "0"})),
              ElementsAre(TensorUse{"x", Bytes{1024}, false}, TensorUse{"w", Bytes{8}, false}));
  EXPECT_THAT(tensors_of(with_list("outputs", {"y", "16"})), ElementsAre(TensorUse{"y", Bytes{16}, true}));
  for (const std::vector<std::string>& other : std::vector<std::vector<std::string>>{
           {"x"}, {"x", "y"}, {"x", "8", "y"}, {"x", "-1"}, {"x", "8B"}, {"x", "99999999999999999999"}}) {
    EXPECT_THAT(tensors_of(with_list("inputs", other)), IsEmpty());
  }
  EXPECT_THAT(tensors_of(with_list("names", {"x", "1024"})), IsEmpty());
}

TEST(Tensors, StoragesOfPyTorch) {
  Node node;
  node.inputs = IoInfo{.values = "[[12, 7, 0, 1024, 4, 'cuda:0'], [[13, 8, 16, 16, 2, 'cpu'], [1, 2]], 'a, [b', 1.0]"};
  node.outputs = IoInfo{.values = R"([[14, 7, 0, 1024, 4, "cuda:0"]])"};
  EXPECT_THAT(tensors_of(node),
              ElementsAre(TensorUse{"7 on cuda:0", Bytes{4096}, false}, TensorUse{"8 on cpu", Bytes{64}, false},
                          TensorUse{"7 on cuda:0", Bytes{4096}, true}));
}

TEST(Tensors, OtherListsAreNone) {
  Node node;
  for (const char* text :
       {"", "[]", "[[1, 2, 3, 4, 5]]", "[[1, 2, 3, 4, 5, 6]]", "['[1, 2, 0, 4, 4, cpu]']", "[1, 2, 0, 4, 4, 'cpu'",
        "[[1, 2, 0, -4, 4, 'cpu']]", "[[1, 2, 0, 0, 4, 'cpu']]", "'\\", "[[1, 2, 9223372036854775807, 1, 8, 'cpu']]",
        "]", "[[1, 2, 0, 4, 4, ]]"}) {
    node.inputs = IoInfo{.values = text};
    EXPECT_THAT(tensors_of(node), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace orrery::chakra
