"""The page of what devices accept counts examples, and names the commonest refusal."""

import re
from pathlib import Path

import pytest

from benchmarks import accepted
from nnapi.codes import OperationCode
from nnapi.drivers.limited import Limited
from nnapi.runtime.device import Device, device
from tests.testing.testing_cases import add, relu

REPOSITORY = Path(__file__).parents[2]


def picky(*reasons: str) -> Device:
    """The reference under another name, refusing each RELU for the next of the reasons, "" for none."""
    left = iter(reasons)

    def refuses(model: object, call: object) -> str | None:
        return next(left) or None if call.code == OperationCode.RELU else None  # type: ignore[attr-defined]

    return Device(Limited(device("nnapi-reference").driver, "picky", refuses))


def test_counts_and_reasons() -> None:
    reasons = [
        "RELU (#0): op1 is TENSOR_FLOAT16, which it lacks",
        "RELU (#0): too | long",
        "RELU (#7): output 12 is TENSOR_FLOAT16, which it lacks",
        "",
    ]
    engines = [picky(*reasons), device("nnapi-reference")]
    page = accepted.page(accepted.counts([add(), relu(), relu(), relu(), relu()], engines), engines)
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert rows[0] == (
        "| operation | picky | main reason of refusal by picky | nnapi-reference | "
        "main reason of refusal by nnapi-reference |"
    )
    assert rows[2] == "| **all** | 2/5 (40.0%) |  | 5/5 (100.0%) |  |"
    assert rows[3] == "| [ADD](operations.md#add) | 1/1 |  | 1/1 |  |"
    assert rows[4] == "| [RELU](operations.md#relu) | 1/4 | TENSOR_FLOAT16, which it lacks | 4/4 |  |"
    assert "For this table, picky runs 1.0 and nnapi-reference runs 1.0." in page


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("PAD (#3): paddings (operand 1) is not known", "paddings is not known"),
        ("EQUAL (#0): in02 and in12 differ in scale", "the inputs differ in scale"),
        (
            "RELU (#0): x has dimensions that are not known: TENSOR_INT32[?, 2]",
            "the dimensions of an operand are not known before the run",
        ),
        ("FILL (#0): dims is not known, and its decomposition is refused: shape is not known", "dims is not known"),
        ("CONV_2D (#0): padding ((0, -1), (0, -1)) leaves cells", "padding … leaves cells"),
        ("it computes in TENSOR_FLOAT32[1, 2], not 3.5e-5 wide", "it computes in TENSOR_FLOAT32…, not … wide"),
    ],
)
def test_what_belongs_to_one_call_is_left_out(reason: str, expected: str) -> None:
    assert accepted.generalize(reason) == expected


def test_the_committed_page_has_links_that_lead_somewhere() -> None:
    page, operations = ((REPOSITORY / "docs" / name).read_text() for name in ("accepted.md", "operations.md"))
    links = re.findall(r"operations\.md#(\w+)", page)
    assert len(links) > 90
    assert {link.upper() for link in links} <= set(re.findall(r"^## (\w+)$", operations, re.MULTILINE))
    assert "](accepted.md)" in operations
