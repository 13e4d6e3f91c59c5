"""Accelerators that an application may use instead of NNAPI, and the operations that each of them refuses."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import nnapi
from nnapi.cli.ahead_of_time import compile_files
from nnapi.contract.ahead_of_time import CompilesAhead
from nnapi.drivers.litert.quiet import hide_delegate_message
from nnapi.errors import Mistake, NnapiError
from nnapi.model.model import Model
from nnapi.report.engines import LiteRT
from nnapi.runtime.planning.grouping import group_by_owner
from nnapi.runtime.verdicts.verdicts import need_verdicts
from nnapi.store.files import output_file
from nnapi.store.temporary import temporary_folder

NPUS = ("qualcomm-htp", "ethos-u55-128")
"""Devices that are vendors' compilers. They are asked where they are installed."""


class NoAnswerError(Exception):
    """An accelerator cannot be asked, or cannot write a file; the message is the reason."""


@dataclass(frozen=True)
class Answer:
    """An accelerator's answer: operations that it accepts, all operations, partitions; or the problem.

    ``source`` is the program that gave the answer. ``files`` are compiled for the accelerator; ``note`` is the reason
    if a compiler wrote none.
    """

    name: str
    source: str
    taken: int = 0
    total: int = 0
    partitions: int = 0
    problem: str = ""
    files: tuple[str, ...] = ()
    note: str = ""


class Accelerator(Protocol):
    """An accelerator. If a question ``is_slow``, edits of operations are tried once for each reason of refusals."""

    name: str
    source: str
    is_slow: bool

    def list_refusals(self, model: Model, parts: Sequence[Model]) -> list[str]:
        """Return the reason for each operation's refusal, "" if it is accepted; ``parts`` are models of one
        operation. NoAnswerError if the accelerator cannot be asked."""
        ...

    def count_partitions(self, model: Model, refusals: Sequence[str]) -> int:
        """Return the number of partitions that the accelerator computes."""
        ...

    def write_files(self, model: Model, start: Path) -> list[Path]:
        """Write files that are compiled for the accelerator, if it has a compiler: ``start`` begins their names.
        NoAnswerError if it compiles none."""
        ...


def count_accepted(model: Model, refusals: Sequence[str]) -> int:
    """Return the number of partitions of the operations that are not refused."""
    owners = {call.number: not refusal for call, refusal in zip(model.operations, refusals, strict=True)}
    return sum(bool(owner) for owner, _ in group_by_owner(model, owners))


class DeviceAccelerator:
    """A device of this machine, a device simulated by a profile (.toml), or one of another NNAPI library."""

    def __init__(self, name: str) -> None:
        self.name, self._device = name, nnapi.device(name)
        self.is_slow = bool(self._device.substitute)
        kind = "vendor's compiler" if self.is_slow else "profile" if name.endswith(".toml") else "device"
        self.source = f"{kind}: {self._device.version}"

    def list_refusals(self, model: Model, parts: Sequence[Model]) -> list[str]:
        answers = need_verdicts(self._device.driver, model)
        return ["" if answer.supported else answer.reason or "refused without a reason" for answer in answers]

    def count_partitions(self, model: Model, refusals: Sequence[str]) -> int:
        return count_accepted(model, refusals)

    def write_files(self, model: Model, start: Path) -> list[Path]:
        if not isinstance(self._device.driver, CompilesAhead) or not self._device.driver.list_targets():
            return []
        try:
            files = compile_files(model, self._device, self.name)
        except NnapiError as error:
            raise NoAnswerError(str(error)) from None
        written = {start.with_name(f"{start.name}-{self.name}{end}"): content for end, content in files.items()}
        for path, content in written.items():
            with output_file(path) as file:
                file.write(content)
        return list(written)


class Xnnpack:
    """LiteRT's default delegate. It gives no reasons, so each operation is tried in a file of its own. Raises Mistake
    without LiteRT."""

    name = "LiteRT XNNPACK"
    is_slow = False

    def __init__(self) -> None:
        try:
            self.source = f"engine: LiteRT {LiteRT().version()}"
        except ImportError:
            raise Mistake("files are compared in LiteRT, which is missing: pip install ai-edge-litert") from None

    def list_refusals(self, model: Model, parts: Sequence[Model]) -> list[str]:
        return list(map(self._find_refusal, parts))

    def count_partitions(self, model: Model, refusals: Sequence[str]) -> int:
        return self._list_operators(model).count("DELEGATE")

    def write_files(self, model: Model, start: Path) -> list[Path]:
        return []

    def _find_refusal(self, part: Model) -> str:
        try:
            names = self._list_operators(part)
        except (NnapiError, ValueError, RuntimeError) as error:
            return str(error).splitlines()[0]
        return "" if "DELEGATE" in names else f"LiteRT computes {' and '.join(dict.fromkeys(names))} without XNNPACK"

    def _list_operators(self, model: Model) -> list[str]:
        """Return the names of the operators in LiteRT's graph; ``DELEGATE`` is a partition of XNNPACK."""
        from ai_edge_litert.interpreter import Interpreter

        with temporary_folder() as folder, hide_delegate_message():
            nnapi.export(model, path := Path(folder) / "model.tflite")
            interpreter = Interpreter(str(path), num_threads=1)
            interpreter.allocate_tensors()
            return [operator["op_name"] for operator in interpreter._get_ops_details()]
