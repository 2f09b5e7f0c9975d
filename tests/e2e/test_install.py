# SPDX-License-Identifier: Apache-2.0
"""The installed package: the command starts, and says the same as the Python module."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSION = (ROOT / "VERSION").read_text().strip()


def test_command_prints_its_version(orrery):
    assert orrery("--version").stdout.split()[:2] == ["orrery", VERSION]


def test_module_and_metadata_agree_with_the_version_file():
    import orrery

    assert orrery.__version__ == VERSION
    assert importlib.metadata.version("orrery-sim") == VERSION


def test_mistakes_exit_with_2(orrery):
    orrery("--no-such-option", code=2)


def test_catalogue_is_found_unless_the_user_names_another():
    script = "import os, orrery; print(os.environ['ORRERY_CATALOG'])"

    def catalogue(**extra):
        environment = {k: v for k, v in os.environ.items() if k != "ORRERY_CATALOG"} | extra
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
        return done.stdout.decode().strip()

    assert Path(catalogue()).parent.name == "orrery"
    assert catalogue(ORRERY_CATALOG="elsewhere") == "elsewhere"
