# SPDX-License-Identifier: Apache-2.0
"""Where the parts of the installed package are."""

import os
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent
CATALOG = PACKAGE / "catalog"
PROGRAM = PACKAGE / "bin" / "orrery"


def set_environment() -> None:
    """Tells the core where its parts and the interpreter are, unless the user already did."""
    os.environ.setdefault("ORRERY_CATALOG", str(CATALOG))
    os.environ.setdefault("ORRERY_PYTHON", sys.executable)
    os.environ.setdefault("ORRERY_PACKAGE", str(PACKAGE))
