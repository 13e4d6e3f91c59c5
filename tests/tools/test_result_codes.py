"""The page of result codes."""

import re
from pathlib import Path

from nnapi.codes import ResultCode
from tools.result_codes import ADVICE, page

COMMITTED = Path(__file__).resolve().parents[2] / "docs" / "result-codes.md"


def test_the_committed_page_is_up_to_date() -> None:
    assert COMMITTED.read_text() == page(), "run: python -m tools.result_codes > docs/result-codes.md"


def test_every_code_has_a_row_and_a_section() -> None:
    failures = [code for code in ResultCode if code != ResultCode.NO_ERROR]
    assert re.findall(r"^## (\w+)$", page(), re.MULTILINE) == [code.name for code in failures]
    rows = re.findall(r"^\| (\d+) \| \[`(\w+)`\]\(#(\w+)\) \| `(\w+)`", page(), re.MULTILINE)
    assert [(int(number), name, name.lower()) for number, name, _, _ in rows] == [
        (int(code), code.name, anchor) for code, (_, _, anchor, _) in zip(failures, rows, strict=True)
    ]
    assert set(ADVICE) == set(failures)
