"""CONTRIBUTING.md names places that exist."""

import re

from tests.rows import each_row
from tools import size

PAGE = (size.REPOSITORY / "CONTRIBUTING.md").read_text()
WORDS = sorted({word for quoted in re.findall(r"`([^`\n]+)`", PAGE) for word in quoted.split()})
PLACES = [word for word in WORDS if re.fullmatch(r"[a-z_*][\w*./]*(\.py|\.md|\.toml|\.txt|/)", word)]
"""Words that look like files or folders; names in capitals stand for one's own."""


@each_row("place", PLACES)
def test_a_place_exists(place: str) -> None:
    pattern = re.sub(r"\b(PACKAGE|MODULE|NAME|FAMILY)\b|(?<=_)(MODULE|NAME|FAMILY)\b", "*", place).rstrip("/")
    folders = [size.REPOSITORY, size.REPOSITORY / "src" / "nnapi", size.REPOSITORY / "tests"]
    assert any(next(folder.glob(pattern), None) for folder in folders) or next(folders[-1].rglob(pattern), None)


def test_places_are_found_in_the_page() -> None:
    assert {"operation_codes.py", "docs/operations.md", "drivers/", "tests/ops/test_NAME.py"} <= set(PLACES)
