"""Compare nnapi with ONNX Runtime on 20 classical estimators: ``python -m benchmarks.estimators [FOLDER] [PYTHON]``.

PYTHON is the interpreter of an environment that has what ``export_estimators.py`` needs; it writes the files to FOLDER,
unless they are there. By default this is the running interpreter and a temporary folder. Without scikit-learn, nothing
is compared.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from nnapi.onnx import InferenceSession

EXPORTER = Path(__file__).with_name("export_estimators.py")
WITHIN = 1e-5
"""The largest difference of results that are right, relative to the largest result."""


@contextmanager
def exported(folder: str | None, python: str) -> Iterator[list[Path]]:
    """Give the files of the estimators; [] if the interpreter lacks the libraries that train them."""
    with TemporaryDirectory() as temporary:
        place = Path(folder or temporary)
        if not list(place.glob("*.onnx")):
            done = subprocess.run([python, EXPORTER, place], capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"nothing is exported: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        yield sorted(place.glob("*.onnx"))


def compare(path: Path) -> str:
    """Describe how nnapi's results for a file differ from ONNX Runtime's."""
    import onnxruntime

    x = np.load(path.with_suffix(".npy"))
    theirs = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    feed = {theirs.get_inputs()[0].name: x}
    try:
        found = InferenceSession(str(path)).run(None, feed)
    except Exception as error:
        return f"refused: {error}"
    pairs = [(_flatten(a), _flatten(b)) for a, b in zip(found, theirs.run(None, feed), strict=True)]
    worst = max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-9)) for a, b in pairs)
    return f"{'equal' if worst <= WITHIN else 'different'}, {worst:.1e} of the largest value"


def _flatten(output: Any) -> Any:
    """Return an output as one array; the keys of dictionaries count too."""
    if isinstance(output, list):
        output = [sorted(row.items()) for row in output]
    return np.asarray(output, np.float64).reshape(-1)


def main(folder: str | None = None, python: str = sys.executable) -> None:
    with exported(folder, python) as paths:
        lines = [(path.stem, compare(path)) for path in paths]
    for name, line in lines:
        print(f"{name:28} {line}")
    print(f"{sum(line.startswith('equal') for _, line in lines)} of {len(lines)} estimators are right")


if __name__ == "__main__":
    main(*sys.argv[1:])
