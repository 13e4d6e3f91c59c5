"""Write golden values as .npz, .csv and C headers."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nnapi.model.operand import Array
from nnapi.store.files import output_file, write_text
from nnapi.testing.golden.c_headers import describe_tensor, list_integers
from nnapi.testing.golden.recording import Golden, Operation, Tensor

TENSOR_COLUMNS = ("index", "name", "type", "shape", "layout", "lifetime", "scale", "zero_point", "lowest", "highest")
INTEGER_COLUMNS = "out_zero_point", "low", "high", "accumulator_bits"
OPERATION_COLUMNS = (
    *("number", "operation", "rule", "inputs", "outputs", "activation", *INTEGER_COLUMNS),
    *("tflite_micro_differing", "tflite_micro_reason"),
)
CHANNEL_COLUMNS = "multiplier", "shift", "accumulator_low", "accumulator_high"


def name_tensor(index: int) -> str:
    return f"t{index}"


def as_data(golden: Golden) -> dict[str, Any]:
    """Return all but the tensors' elements, as JSON has it."""
    return {
        "model": golden.model,
        "inputs": list(golden.inputs),
        "outputs": list(golden.outputs),
        "tensors": list(map(_tensor_as_data, golden.tensors)),
        "operations": list(map(_operation_as_data, golden.operations)),
    }


def write_files(golden: Golden, folder: Path) -> list[Path]:
    """Write an .npz file, and a folder of .csv files and one of C headers; return all files."""
    tables, headers = folder / "csv", folder / "c"
    for each in (folder, tables, headers):
        each.mkdir(parents=True, exist_ok=True)
    with output_file(folder / "tensors.npz") as file:
        np.savez(file, allow_pickle=False, **{name_tensor(each.index): each.array for each in golden.tensors})
    names = [name_tensor(tensor.index) for tensor in golden.tensors]
    written = [folder / "tensors.npz"]
    for name, tensor in zip(names, golden.tensors, strict=True):
        write_text(tables / f"{name}.csv", _format_values(tensor.array))
        write_text(headers / f"{name}.h", describe_tensor(name, tensor))
        written += [tables / f"{name}.csv", headers / f"{name}.h"]
    tensors = map(_tensor_as_data, golden.tensors)
    channels = (row for operation in golden.operations for row in _channels_of(operation))
    texts = {
        tables / "tensors.csv": _make_table(
            TENSOR_COLUMNS, ([each[name] for name in TENSOR_COLUMNS] for each in tensors)
        ),
        tables / "operations.csv": _make_table(OPERATION_COLUMNS, map(_operation_as_row, golden.operations)),
        tables / "channels.csv": _make_table(("number", "operation", "channel", *CHANNEL_COLUMNS), channels),
        headers / "golden.h": list_integers(golden, names),
    }
    for path, text in texts.items():
        write_text(path, text)
    return [*written, *texts]


def _tensor_as_data(tensor: Tensor) -> dict[str, Any]:
    type, array = tensor.type, tensor.array
    return {
        "index": tensor.index,
        "name": tensor.name,
        "type": type.name,
        "shape": list(array.shape),
        "layout": tensor.layout,
        "lifetime": tensor.lifetime.value,
        "scale": type.scale,
        "zero_point": type.zero_point,
        "channel_axis": type.channel.dimension if type.channel else None,
        "channel_scales": list(type.channel.scales) if type.channel else [],
        "lowest": array.min().item() if array.size else None,
        "highest": array.max().item() if array.size else None,
    }


def _operation_as_data(operation: Operation) -> dict[str, Any]:
    found = operation.arithmetic
    return {
        "number": operation.number,
        "operation": operation.name,
        "inputs": {name: list(indices) for name, indices in operation.inputs.items()},
        "outputs": list(operation.outputs),
        "settings": {name: _as_plain(value) for name, value in operation.settings.items()},
        "activation": operation.activation,
        "rule": found.rule,
        "integers": {name: _as_plain(value) for name, value in found.integers.items()},
        "tflite_micro": {"differing": found.micro, "reason": found.reason},
    }


def _as_plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _operation_as_row(operation: Operation) -> list[Any]:
    found = operation.arithmetic
    inputs = " ".join(f"{name}={'+'.join(map(name_tensor, each))}" for name, each in operation.inputs.items())
    outputs = " ".join(map(name_tensor, operation.outputs))
    integers = (found.integers.get(name, "") for name in INTEGER_COLUMNS)
    first = (operation.number, operation.name, found.rule, inputs, outputs, operation.activation)
    return [*first, *integers, "" if found.micro is None else found.micro, found.reason]


def _channels_of(operation: Operation) -> Iterable[list[Any]]:
    columns = [operation.arithmetic.integers.get(name) for name in CHANNEL_COLUMNS]
    for channel in range(max((len(each) for each in columns if each is not None), default=0)):
        values = ("" if each is None else each[channel] for each in columns)
        yield [operation.number, operation.name, channel, *values]


def _make_table(heads: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return text.getvalue()


def _format_values(array: Array) -> str:
    """Return a line for each row along the last dimension."""
    rows = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    return "".join(",".join(map(str, row)) + "\n" for row in rows.tolist())
