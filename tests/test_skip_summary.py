"""The summary of skipped tests."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.skip_summary import find_way, summarize

REPOSITORY = Path(__file__).parents[1]


def test_equal_reasons_are_one_line_the_most_frequent_first() -> None:
    assert list(summarize(["no objdump", "there may be an NPU", "there may be an NPU"])) == [
        "     2 there may be an NPU",
        "     1 no objdump: install objdump",
    ]


@pytest.mark.parametrize(
    ("reason", "way"),
    [
        ("ai-edge-litert is not installed", "pip install ai-edge-litert, for Python 3.11 to 3.14"),
        ("ray[data] is not installed", "pip install 'ray[data]'"),
        ("OpenVINO is an extra: nnapi[openvino]", "pip install -e '.[openvino]'"),
        ("needs the extra docs", "pip install -e '.[docs]'"),
        ("needs the reference material, which is not at /shared", "set NNAPI_SHARED to its folder"),
        ("the operation has no activation", ""),
        ("PyTorch is not installed (pip install 'nnapi[torch]')", ""),
    ],
)
def test_a_reason_comes_with_the_way_to_have_the_tests_run(reason: str, way: str) -> None:
    assert find_way(reason) == way


@pytest.mark.slow
def test_the_summary_stands_at_the_end_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(
        "import pytest\n"
        "def test_one(): pytest.skip('no objdump')\n"
        "@pytest.mark.parametrize('n', range(3))\n"
        "@pytest.mark.skipif(True, reason='onnx is not installed')\n"
        "def test_more(n): pass\n"
    )
    words = ["-c", "/dev/null", "--rootdir", str(tmp_path), "-p", "tests.skip_summary", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert "     3 onnx is not installed: pip install 'onnx'\n     1 no objdump: install objdump\n" in done.stdout
