"""Read TOML files of a size that Python's parser reads in a few seconds."""

import os
import tomllib
from typing import Any

from nnapi.errors import BadDataError, need
from nnapi.store.files import read_bounded

MOST = 256 << 10
LONGEST = 4096
"""Maximum bytes of a line: the parser takes time for the square of the number of dots in a key."""


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of a file; raise BadDataError if it cannot be read, is too large, or is not TOML."""
    try:
        content = read_bounded(path, MOST)
        longest = max(map(len, content.split(b"\n")))
        said = f"{os.fspath(path)}: a line has {longest} bytes, at most {LONGEST} are possible"
        need(longest <= LONGEST, said, BadDataError)
        return tomllib.loads(content.decode())
    except OSError as error:
        raise BadDataError(f"{os.fspath(path)}: {error.strerror or error}") from None
    except RecursionError:
        raise BadDataError(f"{os.fspath(path)}: its values are nested too deep") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadDataError(f"{os.fspath(path)}: {error}") from None
