"""The command ``nnapi``, from its first moment: Ctrl-C must not print a traceback of imports."""

import os
import signal
from types import FrameType


def main() -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    from nnapi.cli import main as run  # takes most of the time of a short command

    run()


def _stop(number: int, frame: FrameType | None) -> None:
    os.write(2, b"nnapi: stopped\n")
    os._exit(128 + number)
