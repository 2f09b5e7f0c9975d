// SPDX-License-Identifier: Apache-2.0
// Shell completion from the parser itself: the tree of commands and options is flattened into lines, and each
// shell gets the same small lookup over them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "orrery/app/describe.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/session.hpp"

namespace orrery::cli {
namespace {

/// What may stand behind one command: "orrery cluster" and the words that can follow it.
struct Completion {
  std::string path;
  std::vector<std::string> words;  ///< Commands, options, and names for the positional argument.
};

/// Names that may follow an option, or stand in place of a positional argument.
using Values = std::map<std::string, std::vector<std::string>>;

Values known_values() {
  std::map<std::string, std::vector<std::string>> kinds;
  for (const app::Description& entry : app::describe()) kinds[entry.kind].push_back(entry.name);
  Values values;
  values["--cluster"] = values["cluster"] = kinds["cluster"];
  values["--network"] = kinds["network"];
  values["--dtype"] = kinds["dtype"];
  values["operation"] = kinds["operation"];
  values["--algorithm"] = kinds["selection"];
  values["--algorithm"].insert(values["--algorithm"].end(), kinds["algorithm"].begin(),
                               kinds["algorithm"].end());
  values["--to"] = {"infragraph", "native", "et", "et.gz", "json", "json.gz"};
  values["shell"] = {"bash", "zsh", "fish"};
  for (const auto& [kind, names] : kinds) {
    values["name"].push_back(kind);
    values["name"].insert(values["name"].end(), names.begin(), names.end());
  }
  return values;
}

void flatten(const CLI::App& app, const std::string& path, const Values& values,
             std::vector<Completion>& out) {
  Completion completion{path, {}};
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands) completion.words.push_back(command->get_name());
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->get_positional()) {
      if (const auto found = values.find(option->get_name()); found != values.end()) {
        completion.words.insert(completion.words.end(), found->second.begin(), found->second.end());
      }
    }
    for (const std::string& name : option->get_lnames()) completion.words.push_back("--" + name);
  }
  out.push_back(std::move(completion));
  for (const CLI::App* command : commands) flatten(*command, path + " " + command->get_name(), values, out);
}

std::string bash(const std::vector<Completion>& completions, const Values& values) {
  std::string text =
      "# bash completion of orrery:  source <(orrery completion bash)\n_orrery() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path=orrery word\n"
      "  case $prev in\n";
  for (const auto& [option, names] : values) {
    if (option.starts_with("--")) {
      text += fmt::format("    {}) COMPREPLY=($(compgen -f -W '{}' -- \"$cur\")); return ;;\n", option,
                          join(names, " "));
    }
  }
  text +=
      "    --comm-group|--csv|--output|--trace|--svg|--sizes-file|-o) COMPREPLY=($(compgen -f -- "
      "\"$cur\")); return ;;\n  "
      "esac\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case \"$path $word\" in\n      ";
  std::vector<std::string> paths;
  for (const Completion& completion : completions) paths.push_back("'" + completion.path + "'");
  text += join(paths, "|") + ") path=\"$path $word\" ;;\n    esac\n  done\n  case $path in\n";
  for (const Completion& completion : completions) {
    text += fmt::format("    '{}') COMPREPLY=($(compgen -W '{}' -- \"$cur\")) ;;\n", completion.path,
                        join(completion.words, " "));
  }
  return text +
         "  esac\n  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$cur\"))\n}\n"
         "complete -o filenames -F _orrery orrery\n";
}

std::string zsh(const std::vector<Completion>& completions, const Values& values) {
  return "#compdef orrery\n# zsh completion of orrery:  source <(orrery completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash(completions, values);
}

std::string fish(const std::vector<Completion>& completions, const Values& values) {
  std::string text =
      "# fish completion of orrery:  orrery completion fish | source\n"
      "function __orrery_at\n  set -l words (commandline -opc)\n  set -l path orrery\n"
      "  for word in $words[2..-1]\n    switch \"$path $word\"\n";
  for (const Completion& completion : completions) {
    text += fmt::format("      case '{0}'\n        set path '{0}'\n", completion.path);
  }
  text += "    end\n  end\n  test \"$path\" = \"$argv\"\nend\n";
  for (const Completion& completion : completions) {
    for (const std::string& word : completion.words) {
      const bool is_option = word.starts_with("--");
      text += fmt::format("complete -c orrery -n '__orrery_at {}' {} '{}'\n", completion.path,
                          is_option ? "-l" : "-a", is_option ? word.substr(2) : word);
    }
  }
  for (const auto& [option, names] : values) {
    if (!option.starts_with("--")) continue;
    text += fmt::format("complete -c orrery -l {} -x -a '{}'\n", option.substr(2), join(names, " "));
  }
  return text;
}

std::string json(const std::vector<Completion>& completions) {
  std::string text = "{\"commands\": [";
  for (std::size_t i = 0; i < completions.size(); ++i) {
    text += fmt::format("{}\n  {{\"path\": \"{}\", \"words\": [\"{}\"]}}", i == 0 ? "" : ",",
                        completions[i].path, join(completions[i].words, "\", \""));
  }
  return text + "\n]}\n";
}

struct Arguments {
  std::string shell;
  bool is_json = false;
};

void run(const Arguments& arguments, const CLI::App& root) {
  const Values values = known_values();
  std::vector<Completion> completions;
  flatten(root, "orrery", values, completions);
  if (arguments.is_json) return print(json(completions));
  if (arguments.shell == "bash") return print(bash(completions, values));
  if (arguments.shell == "zsh") return print(zsh(completions, values));
  if (arguments.shell == "fish") return print(fish(completions, values));
  throw InputError{{.source = "shell",
                    .position = {},
                    .field = {},
                    .value = arguments.shell,
                    .expected = "expected one of: bash, zsh, fish",
                    .nearest = nearest_name(arguments.shell, {"bash", "zsh", "fish"})}};
}

}  // namespace

void add_completion(CLI::App& root, Session& session) {
  CLI::App* command = root.add_subcommand("completion", "Prints a completion script for a shell.");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("shell", arguments->shell, "bash, zsh or fish");
  command->add_flag("--json", arguments->is_json, "Print the tree of commands and words as JSON");
  command->footer(
      "Examples:\n  source <(orrery completion bash)\n  orrery completion fish > "
      "~/.config/fish/completions/orrery.fish");
  command->callback(
      [arguments, &root, &session] { session.action = [arguments, &root] { run(*arguments, root); }; });
}

}  // namespace orrery::cli
