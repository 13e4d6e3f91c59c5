"""The version of the code that prepares cache entries; an entry of another version is not used.

The package's version does not suffice: in a checkout, code changes without a new version.
"""

import os
from contextlib import suppress
from functools import cache

MAKERS = "contract", "drivers", "formats", "host", "importers", "lowering", "model", "ops"


@cache
def find_last_change() -> bytes:
    package = os.path.dirname(os.path.dirname(__file__))
    folders = [os.path.join(package, maker) for maker in MAKERS]
    times = []
    for folder in folders:
        with suppress(FileNotFoundError), os.scandir(folder) as found:
            for each in found:
                if each.name.endswith((".py", ".txt")):
                    times.append(each.stat().st_mtime_ns)
                elif "." not in each.name and each.name != "__pycache__" and each.is_dir():
                    folders.append(each.path)
    return repr((len(times), max(times, default=0))).encode()
