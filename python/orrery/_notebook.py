# SPDX-License-Identifier: Apache-2.0
"""A cell of a notebook as a program on a simulated cluster.

    %load_ext orrery

    %%orrery -n 4 --cluster jetson-lan
    import torch, torch.distributed as dist
    dist.init_process_group()
    ...

The cell sees nothing of the notebook's variables: it runs in processes of its own, as `orrery run` would run a file.
What the ranks print comes below the cell, then the summary. `_orrery` keeps the content of result.json.
"""

import json
import shlex
import signal
import subprocess
import tempfile
from pathlib import Path

from orrery._paths import PROGRAM


def register(shell) -> None:
    def orrery(line: str, cell: str) -> None:
        with tempfile.TemporaryDirectory(prefix="orrery-cell-") as folder:
            script = Path(folder) / "cell.py"
            script.write_text(cell)
            out = Path(folder) / "out"
            words = [str(PROGRAM), "run", *shlex.split(line)]
            # Whoever gives --out wants to keep it.
            given = words.index("--out") if "--out" in words else -1
            if 0 < given < len(words) - 1:
                out = Path(words[given + 1])
            else:
                words += ["--out", str(out)]
            process = subprocess.Popen(
                [*words, str(script)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
            )
            try:
                for text in process.stdout:
                    print(text, end="")
            except BaseException:  # An interrupted cell ends its run.
                process.send_signal(signal.SIGINT)
                process.wait()
                raise
            process.wait()
            if process.returncode != 0:
                raise RuntimeError(f"orrery run ended with exit code {process.returncode}")
            shell.user_ns["_orrery"] = json.loads((out / "result.json").read_text())

    shell.register_magic_function(orrery, magic_kind="cell", magic_name="orrery")
