"""One line on stderr and an exit code for whatever goes wrong."""

import subprocess

import pytest
import typer
from typer.testing import CliRunner

from nnapi.cli.failure import Nnapi, describe_failure
from nnapi.errors import BadDataError, DeadObjectError, Mistake, OpFailedError, UnavailableDeviceError
from tests.warm_python import warm_python


def command(error: BaseException) -> typer.Typer:
    """An app whose command raises."""
    app = typer.Typer(cls=Nnapi)

    @app.callback()
    def options() -> None:
        pass

    @app.command()
    def work(count: int = 1) -> None:
        raise error

    return app


def _without_onnx() -> OpFailedError:
    error = OpFailedError("reading ONNX needs the library onnx")
    error.__cause__ = ImportError("No module named 'onnx'")
    return error


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (Mistake("no such thing"), 2, "no such thing"),
        (BadDataError("filter has depth 3, input has 4").at("CONV_2D (#17)"), 3, "CONV_2D (#17): filter has depth 3"),
        (_without_onnx(), 2, "reading ONNX needs the library onnx"),
        (MemoryError(), 3, "out of memory"),
        (DeadObjectError("driver npu: it ended with SIGKILL"), 4, "driver npu: it ended with SIGKILL"),
        (UnavailableDeviceError("no device 'npu'"), 4, "no device 'npu'"),
        (
            FileNotFoundError(2, "No such file or directory", "model.tflite"),
            2,
            "model.tflite: No such file or directory",
        ),
        (OSError("cannot read"), 2, "cannot read"),
        (
            ModuleNotFoundError("No module named 'PIL'", name="PIL"),
            2,
            "pictures need Pillow: pip install 'nnapi[images]'",
        ),
        (
            ModuleNotFoundError("No module named 'scipy.stats'", name="scipy.stats"),
            2,
            "comparing benchmark runs needs SciPy: pip install 'nnapi[report]'",
        ),
    ],
)
def test_one_line(error: Exception, code: int, words: str) -> None:
    result = CliRunner().invoke(command(error), ["work"])
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith(f"nnapi: {words}")
    assert result.stderr.count("\n") == 1


def test_unforeseen_error_names_itself_and_the_way_to_the_traceback() -> None:
    assert (
        describe_failure(KeyError("x"))[1] == "KeyError: 'x' (a bug in nnapi: set NNAPI_DEBUG=1 to print the traceback)"
    )


@pytest.mark.parametrize(("debug", "shown"), [("1", True), ("0", False), ("", False)])
def test_debug_shows_the_traceback(debug: str, shown: bool) -> None:
    result = CliRunner(env={"NNAPI_DEBUG": debug}).invoke(command(Mistake("no such thing")), ["work"])
    assert ("Traceback" in result.stderr) is shown
    assert result.stderr.endswith("nnapi: no such thing\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["wrok"], "No such command 'wrok'"),
        (["work", "--speed"], "No such option: --speed (see "),
        (["work", "--count", "x"], "Invalid value for '--count'"),
        (["work", "more"], "unexpected extra argument"),
    ],
)
def test_wrong_usage(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(command(Mistake("never reached")), arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_exit_code_of_a_command_is_kept() -> None:
    result = CliRunner().invoke(command(typer.Exit(3)), ["work"])
    assert (result.exit_code, result.stderr) == (3, "")


def test_interruption() -> None:
    result = CliRunner().invoke(command(KeyboardInterrupt()), ["work"])
    assert result.exit_code == 130
    assert "Traceback" not in result.output


def test_reader_that_goes_away() -> None:
    """As in `nnapi … | head -1`."""
    code = "from nnapi.cli import main; import sys; sys.argv = ['nnapi', 'devices']; sys.stdout.close(); main()"
    done = subprocess.run([warm_python(), "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_the_end_of_a_file_is_no_interruption() -> None:
    result = CliRunner().invoke(command(EOFError("No data left in file")), ["work"])
    assert result.exit_code == 2
    assert "No data left in file" in result.stderr


def test_no_memory() -> None:
    assert describe_failure(MemoryError("unable to allocate 1 TiB"))[1] == "out of memory: unable to allocate 1 TiB"
