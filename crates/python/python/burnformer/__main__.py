"""The program `burnformer`, as a script of the package and as `python -m burnformer`."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from . import _burnformer
from .commands import PARENT


def main() -> int:
    """Runs the program with the arguments of this process and returns its exit code."""
    # Taken out, because the program's own children have another parent.
    if parent := os.environ.pop(PARENT, None):
        threading.Thread(target=_end_after, args=[int(parent)], daemon=True).start()
    # The program handles Ctrl-C itself; Python's handler would only note it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _burnformer.main(["burnformer", *sys.argv[1:]])


def _end_after(parent: int) -> None:
    """Interrupts this process when its `parent` is gone, even if it was killed. (Windows never tells.)"""
    while os.getppid() == parent:
        time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
