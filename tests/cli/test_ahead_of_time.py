"""``nnapi export --for``, with a compiler that only pretends."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import nnapi
from nnapi.cli import app
from nnapi.cli.ahead_of_time import compile_files
from nnapi.contract.ahead_of_time import CompilesAhead
from nnapi.contract.driver import CacheEntry, Prepared, PrepareOptions, Verdict
from nnapi.drivers.isolated import Isolated
from nnapi.model.model import Model
from tests.runtime.device_cases import Scripted, as_it_is
from tests.tflite_writer import f32, single


class Compiler(Scripted):
    """A compiler for two chips, which writes the name of the chip."""

    closed = 0

    def __init__(self, chip: str = "old", refuses: str = "") -> None:
        super().__init__(as_it_is, "compiler")
        self.chip, self.refuses = chip, refuses

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return [Verdict(not self.refuses, self.refuses) for _ in model.operations]

    def list_targets(self) -> Sequence[str]:
        return ["old", "new"]

    def retarget(self, target: str) -> "Compiler":
        return Compiler(target, self.refuses)

    def cache_entry(self, prepared: Prepared) -> bytes:
        return self.chip.encode()

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> Prepared:
        raise AssertionError("an export does not run the model")

    def list_files(self, entry: bytes) -> Mapping[str, bytes]:
        return {".bin": entry, "_more.txt": b"about " + entry}

    def close(self) -> None:
        Compiler.closed += 1


@pytest.fixture(name="model")
def _model(tmp_path: Path) -> Path:
    (tmp_path / "m.tflite").write_bytes(single("ABS", [f32(2)], f32(2)))
    return tmp_path / "m.tflite"


def export(model: Path, name: str, target: str, monkeypatch: pytest.MonkeyPatch, *compilers: Compiler) -> Result:
    monkeypatch.setattr(nnapi, "devices", lambda: [nnapi.Device(each) for each in compilers])
    return CliRunner().invoke(app, ["export", str(model), "-o", str(model.parent / name), "--for", target])


def test_other_drivers_have_no_targets() -> None:
    assert isinstance(Compiler(), CompilesAhead)
    assert not isinstance(Scripted(as_it_is), CompilesAhead)
    assert list(Isolated(Compiler).list_targets()) == []
    assert list(Isolated(Compiler, known=Compiler()).list_targets()) == ["old", "new"]


def test_all_files_are_written(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Compiler.closed
    done = export(model, "out.bin", "new", monkeypatch, Compiler())
    assert done.exit_code == 0, done.output
    written = {path.name: path.read_bytes() for path in model.parent.iterdir() if path != model}
    assert written == {"out.bin": b"new", "out_more.txt": b"about new"}
    assert done.output.count("written to ") == 2
    assert Compiler.closed == before + 1


def test_unknown_targets_name_the_known_ones(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = export(model, "out.bin", "newest", monkeypatch, Compiler())
    assert (done.exit_code, done.stderr) == (2, "nnapi: --for is newest, must be one of old, new\n")
    done = export(model, "out.bin", "newest", monkeypatch)
    assert "pip install 'nnapi[qualcomm]'" in done.stderr


def test_a_model_that_is_not_whole_is_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = export(model, "out.bin", "new", monkeypatch, Compiler(refuses="ABS (#0): too positive"))
    assert done.exit_code == 3
    assert "is not whole on new, which refuses 1 of 1 operation: ABS (#0): too positive" in done.stderr
    assert [path.name for path in model.parent.iterdir()] == ["m.tflite"]


def test_another_suffix_is_a_wrong_option(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = export(model, "out.onnx", "new", monkeypatch, Compiler())
    assert done.exit_code == 2
    assert "must end in .bin with --for" in done.stderr


def test_a_compiler_gets_the_parts_of_composites_that_it_does_not_list() -> None:
    seen = list[str]()

    class Plain(Compiler):
        def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
            seen.extend(call.name for call in model.operations)
            return super().prepare(model, options)

    b, compiler = nnapi.Builder(), Plain("new")
    compiler.info = compiler.info._replace(extensions=())
    b.output(b.gelu(b.input(nnapi.tensor("float32", (4,))), approximate=True))
    assert compile_files(b.finish(), nnapi.Device(compiler), "new")[".bin"] == b"new"
    assert "TANH" in seen
    assert "GELU" not in seen
