"""Write a picture of the output of a command: ``python -m tools.picture docs/demo.svg make demo``."""

import os
import subprocess
import sys

from rich.ansi import AnsiDecoder
from rich.console import Console

WIDTH = 80


def main() -> None:
    path, *command = sys.argv[1:]
    environment = os.environ | {"FORCE_COLOR": "1", "COLORTERM": "truecolor", "COLUMNS": str(WIDTH)}
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True, color_system="truecolor")
        for line in AnsiDecoder().decode(printed):
            console.print(line)
    console.save_svg(path, title=" ".join(command))


if __name__ == "__main__":
    main()
