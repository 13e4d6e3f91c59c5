"""The comparison of classical estimators, on files that are made by hand."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed")
from benchmarks import estimators
from tests.onnx.test_maps import X, zipped


def test_a_file_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    (tmp_path / "Maps.onnx").write_bytes(zipped("rows", classlabels_int64s=[5, -3]))
    np.save(tmp_path / "Maps.npy", X)
    estimators.main(str(tmp_path))
    assert capsys.readouterr().out.splitlines() == [
        f"{'Maps':28} equal, 0.0e+00 of the largest value",
        "1 of 1 estimators are right",
    ]


def test_nothing_is_compared_without_the_libraries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho \"No module named 'sklearn'\" >&2\nexit 1\n")
    python.chmod(0o755)
    estimators.main(None, str(python))
    assert "nothing is exported: No module named 'sklearn'" in capsys.readouterr().out
