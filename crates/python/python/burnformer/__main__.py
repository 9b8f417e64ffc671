"""The program `burnformer`, as a script of the package and as `python -m burnformer`."""

from __future__ import annotations

import signal
import sys

from . import _burnformer


def main() -> int:
    """Runs the program with the arguments of this process and returns its exit code."""
    # The program handles Ctrl-C itself; Python's handler would only note it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _burnformer.main(["burnformer", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
