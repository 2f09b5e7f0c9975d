# SPDX-License-Identifier: Apache-2.0
"""tools/tidy finds each broken rule, and nothing in a clean tree."""

import subprocess
import sys
from pathlib import Path

import pytest

TIDY = Path(__file__).parents[2] / "tools" / "tidy"
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
HEADER = SPDX + "#pragma once\n"


@pytest.fixture
def tidy(tmp_path):
    """tidy({path: text}): the findings as "path:line: rule" strings; sources are listed for the build."""

    def run(files: dict[str, str], listed: bool = True) -> list[str]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if listed and path.suffix == ".cpp":
                with (path.parent / "CMakeLists.txt").open("a") as lists:
                    lists.write(f"{path.name}\n")
        done = subprocess.run(
            [sys.executable, str(TIDY), "--root", str(tmp_path)], capture_output=True, text=True, check=False
        )
        *findings, summary = done.stdout.splitlines()
        assert summary.startswith("tidy: "), done.stderr
        failures = [line for line in findings if ": warning, " not in line]
        assert done.returncode == (1 if failures else 0)
        return [": ".join(line.replace("warning, ", "").split(": ")[:2]) for line in findings]

    return run


def test_clean_tree_has_no_findings(tidy):
    source = SPDX + '#include "orrery/base/a.hpp"\n\nint f(int x) {\n  if (x > 0) return 1;\n  return 0;\n}\n'
    assert tidy({"src/orrery/base/a.hpp": HEADER, "src/orrery/base/a.cpp": source}) == []


@pytest.mark.parametrize(
    ("module", "included", "is_broken"),
    [
        ("base", "config", True),
        ("config", "base", False),
        ("config", "engine", True),
        ("engine", "config", True),
        ("topology", "engine", True),
        ("network", "topology", False),
        ("network", "engine", False),
        ("network", "base", False),
        ("network", "collectives", True),
        ("collectives", "timeline", True),
        ("timeline", "topology", False),
        ("timeline", "network", True),
        ("app", "serving", False),
        ("app", "cli", True),
        ("cli", "app", False),
    ],
)
def test_modules_include_downward_only(tidy, module, included, is_broken):
    path = f"src/orrery/{module}/a.cpp"
    found = tidy({path: SPDX + f'#include "orrery/{included}/b.hpp"\n'})
    assert found == ([f"{path}:2: module"] if is_broken else [])


def test_bindings_count_as_python_and_version_belongs_to_all(tidy):
    text = SPDX + '#include "orrery/version.hpp"\n#include "orrery/app/b.hpp"\n#include "orrery/cli/b.hpp"\n'
    assert tidy({"python/bindings/a.cpp": text}) == ["python/bindings/a.cpp:4: module"]


def test_unknown_module_is_named(tidy):
    assert tidy({"src/orrery/extra/a.hpp": HEADER}) == ["src/orrery/extra/a.hpp:1: module"]


def test_headers_that_include_each_other(tidy):
    one, two = "src/orrery/base/one.hpp", "src/orrery/base/two.hpp"
    found = tidy({one: HEADER + '#include "orrery/base/two.hpp"\n', two: HEADER + '#include "orrery/base/one.hpp"\n'})
    assert found == [f"{one}:1: cycle"]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("int x = std::rand();", "random"),
        ("std::random_device device;", "random"),
        ("std::uniform_int_distribution<int> d;", "random"),
        ("auto t = std::chrono::system_clock::now();", "wall-clock"),
        ("auto t = std::chrono::steady_clock::now();", "host-clock"),
        ("void f() { std::exit(1); }", "exit"),
        ("void f() { abort(); }", "exit"),
        ('void f() { printf("x"); }', "printf"),
        ("void f() { assert(true); }", "assert"),
        ("double d = std::stod(text);", "locale"),
    ],
)
def test_banned_calls(tidy, line, rule):
    path = "src/orrery/base/a.cpp"
    assert tidy({path: SPDX + line + "\n"}) == [f"{path}:2: {rule}"]


@pytest.mark.parametrize(
    "line",
    [
        "// std::rand() is not used here",
        'const char* text = "std::exit(1)";',
        "static_assert(true);",
        "void f() { app.exit(error); }",
        "auto text = fmt::sprintf_like(1);",
        "std::exit(1);  // tidy-allow: exit, the child after fork must not unwind",
    ],
)
def test_what_only_looks_like_a_banned_call(tidy, line):
    assert tidy({"src/orrery/base/a.cpp": SPDX + line + "\n"}) == []


def test_the_live_module_may_look_at_the_clock(tidy):
    assert tidy({"src/orrery/live/a.cpp": SPDX + "auto t = std::chrono::system_clock::now();\n"}) == []


def test_headers_need_pragma_once_and_no_using_namespace(tidy):
    path = "src/orrery/base/a.hpp"
    assert tidy({path: SPDX + "using namespace std;\n"}) == [f"{path}:1: pragma-once", f"{path}:2: using-namespace"]


def test_iteration_over_unordered_containers(tidy):
    header = HEADER + "struct A { std::unordered_map<int, int> table_; };\n"
    source = SPDX + "void f(A& a) {\n  for (auto& [k, v] : a.table_) use(k, v);\n  for (auto& x : a.list_) use(x);\n}\n"
    found = tidy({"src/orrery/base/a.hpp": header, "src/orrery/base/a.cpp": source})
    assert found == ["src/orrery/base/a.cpp:3: unordered"]


def test_braces(tidy):
    branch = "  if (x > 0)\n    return 1;\n  else\n    return 2;\n"
    body = "int f(int x) {\n" + branch + "  for (;;) {\n  }\n  do {\n  } while (g(x));\n}\n"
    path = "src/orrery/base/a.cpp"
    assert tidy({path: SPDX + body}) == [f"{path}:3: braces", f"{path}:5: braces"]


def test_function_length(tidy):
    def function(name: str, lines: int) -> str:
        return f"int {name}(int x) {{\n" + "  x += 1;\n" * (lines - 2) + "}\n"

    path = "src/orrery/base/a.cpp"
    text = SPDX + "namespace orrery {\n" + function("fits", 70) + function("too_long", 71) + "}\n"
    assert tidy({path: text}) == [f"{path}:73: function-length"]


def test_file_length(tidy):
    long, longer = "src/orrery/base/a.cpp", "src/orrery/base/b.cpp"
    found = tidy({long: SPDX + "int a;\n" * 400, longer: SPDX + "int a;\n" * 600})
    assert found == [f"{long}:1: file-length", f"{longer}:1: file-length"]


def test_text_rules(tidy):
    machine = "/" + "work/main"
    files = {
        "src/orrery/base/a.cpp": "int a; \nint b;\t\n" + "int " + "c" * 120 + ";\n// FIX" + "ME later\nint d;",
        "docs/a.md": f"See {machine}/file.\n",
    }
    assert tidy(files) == [
        "docs/a.md:1: machine-path",
        "src/orrery/base/a.cpp:1: blank",
        "src/orrery/base/a.cpp:1: spdx",
        "src/orrery/base/a.cpp:2: blank",
        "src/orrery/base/a.cpp:2: tab",
        "src/orrery/base/a.cpp:3: columns",
        "src/orrery/base/a.cpp:4: leftover",
        "src/orrery/base/a.cpp:5: newline",
    ]


def test_large_files_and_dead_sources(tidy):
    files = {"catalog/big.yaml": "x" * 1_000_001, "src/orrery/base/dead.cpp": SPDX}
    assert tidy(files, listed=False) == ["catalog/big.yaml:1: blob", "src/orrery/base/dead.cpp:1: dead-file"]
