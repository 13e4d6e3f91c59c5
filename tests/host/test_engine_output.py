"""Output that engines print, and its use in messages."""

import os
import subprocess
import sys

import pytest

from nnapi.host import engine_output as module
from nnapi.host.engine_output import Output, choose_line, collect_output, read_last_words, share_output


def test_what_is_written_meanwhile_is_kept_from_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    output = Output()

    def fail() -> None:
        with collect_output(output):
            os.write(1, b"said\n")
            os.write(2, b"moaned\n")
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fail()
    print("after", file=sys.stderr, flush=True)
    assert output.text == "said\nmoaned\n"
    assert capfd.readouterr() == ("", "after\n")


def test_what_litert_says_of_itself_is_left_out() -> None:
    assert Output("INFO: Created TensorFlow Lite XNNPACK delegate\nINFO: a\n").lines == ["INFO: a"]


def test_what_is_being_collected_can_be_read_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is collected; what is longer than anybody reads, from its end."""
    monkeypatch.setattr(module, "_shared", None)
    place = os.memfd_create("output")
    try:
        share_output(place)
        for said in (b"F1123 04:20:00.0 17 chip.cc:3] no chip\nINFO: bye\n", b"x\n" * module.LAST + b"no chip\n"):
            output = Output()
            with collect_output(output):
                os.write(2, said)
                assert read_last_words(place) == "no chip"
            assert output.text == said.decode()
            assert read_last_words(place) == ""
    finally:
        os.close(place)


@pytest.mark.parametrize(
    ("lines", "chosen"),
    [
        ([], ""),
        (["", "WARNING: "], ""),
        (["INFO: a", "ERROR: b", "WARNING: c"], "b"),
        (["INFO: a", "W1123 04:20:00.0 17 x.cc:3] b", "INFO: c"], "b"),
        (["a", "b"], "b"),
    ],
)
def test_the_line_that_says_most_is_chosen(lines: list[str], chosen: str) -> None:
    assert choose_line(lines) == chosen


@pytest.mark.parametrize(("lines", "chosen"), [([], "given"), (["INFO: a", "b"], "given"), (["WARNING: a", "b"], "a")])
def test_what_is_given_says_more_than_lines_without_an_error(lines: list[str], chosen: str) -> None:
    assert choose_line(lines, "given") == chosen


@pytest.mark.parametrize("closed", [1, 2])
def test_the_other_descriptor_is_collected_where_one_is_missing(closed: int) -> None:
    code = (
        "import os, sys; from nnapi.host.engine_output import Output, collect_output, share_output\n"
        "share_output(os.memfd_create('output'))  # a file of its own would get the free number\n"
        "closed, result = int(sys.argv[1]), os.dup(int(sys.argv[1]))\n"
        "os.close(closed)\n"
        "output = Output()\n"
        "with collect_output(output): os.write(3 - closed, b'said')\n"
        "os.write(result, output.text.encode())\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(closed)], capture_output=True, check=False)
    assert (done.stdout, done.stderr) == ((b"said", b"") if closed == 1 else (b"", b"said"))


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("ERROR: " + "x" * 301, "x" * 300),
        ("ERROR: " + "x" * 300, "x" * 300),
        ("F1123 04:20:00.0 17 chip.cc:3] no chip", "no chip"),
        ("E [chip] no chip", "no chip"),
        ("VERBOSE: all is well", "all is well"),
        ("  WARNING: much  ", "much"),
        ("Error without a level", "Error without a level"),
    ],
)
def test_the_level_of_a_line_is_not_shown(line: str, shown: str) -> None:
    assert choose_line([line]) == shown


def test_a_line_that_begins_as_an_error_has_a_level() -> None:
    assert choose_line(["WARNING: a", "Every word counts", "Fine"]) == "a"


def test_output_is_empty_after_it_was_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the next one who collects it in the same file, and what is captured again goes where it went before."""
    monkeypatch.setattr(module, "_shared", None)
    first, second = Output(), Output()
    with collect_output(first):
        os.write(1, b"first and long\n")
    with collect_output(second):
        os.write(2, b"second\n\xff\n")
    assert (first.text, second.text) == ("first and long\n", "second\n\ufffd\n")
