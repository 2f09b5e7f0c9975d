# SPDX-License-Identifier: Apache-2.0
"""The `orrery` command: becomes the compiled program, so exit codes and signals are its own."""

import os
import sys

from orrery._paths import PROGRAM, set_environment


def main() -> int:
    set_environment()
    try:
        os.execv(PROGRAM, ["orrery", *sys.argv[1:]])
    except OSError as error:
        print(f"orrery: cannot start {PROGRAM}: {error.strerror}", file=sys.stderr)
        return 70
