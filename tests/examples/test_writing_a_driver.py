"""The page about drivers: its code runs, is that of the example, and keeps its promise of being short."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "writing-a-driver.md").read_text()
EXAMPLE = (REPOSITORY / "examples" / "fibonacci_driver.py").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_code_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile("\n".join(BLOCKS), "writing-a-driver.md", "exec"), names)
    assert names["result"].view(np.int64).tolist() == [1, 1, 2, 3, 5, 8, 13, 21, 34, 55]
    assert "fibonacci 1 of 1 operation in 1 partition" in capsys.readouterr().out


def test_the_code_of_the_page_is_that_of_the_example() -> None:
    assert len(BLOCKS) == 4
    for block in BLOCKS:
        assert block.strip() in EXAMPLE


def test_the_driver_takes_less_than_60_lines() -> None:
    assert sum(bool(line.strip()) for block in BLOCKS[:3] for line in block.splitlines()) < 60
    assert sum(bool(line.strip()) for block in BLOCKS for line in block.splitlines()) < 60
