"""Show what each operation of a quantized model loses: as a table, JSON and a page."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.text import Text

from nnapi.cli.printing import Console, indent, table
from nnapi.cli.progress import progress
from nnapi.model.model import Model
from nnapi.printable import pluralize
from nnapi.quantizers import Samples
from nnapi.report.graph import model_data
from nnapi.report.html import comparison_page
from nnapi.runtime.choice.judge import Distance
from nnapi.runtime.device import Device
from nnapi.store.files import write_text
from nnapi.testing.quantization_loss import ModelLoss, measure_loss

LEVELS = {40: "40 dB or more", 30: "30 to 40 dB", 20: "20 to 30 dB", 10: "10 to 20 dB"}
"""Names of losses, by their least decibels; 40 dB are an error of 1 % of the values, 20 dB of 10 %."""
LOWEST, UNKNOWN = "below 10 dB", "no float result"
COLORS = {**dict(zip(LEVELS.values(), (2, 4, 0, 5), strict=True)), LOWEST: 1, UNKNOWN: 3}
"""The colors of the page."""
SHOWN = 10


def measure_with_progress(out: Console, exact: Model, quantized: Model, samples: Samples, device: Device) -> ModelLoss:
    with progress(out, len(samples) * len(quantized.operations)) as step:
        return measure_loss(exact, quantized, samples, device, lambda call: step(str(call)))


def show_losses(out: Console, found: ModelLoss, title: str, every: bool) -> None:
    """Print the outputs, then the operations that lose most, or with ``every`` all operations in order."""
    out.print(Text(f"{title}: {describe_outputs(found)}", style="bold"))
    losing = [loss for loss in found.operations if _decibels(loss.alone) < math.inf]
    worst = sorted(losing, key=lambda loss: _decibels(loss.alone))[:SHOWN]
    if not losing and not every:
        out.print("  [dim]no operation loses anything on equal inputs[/]")
        return
    right = ["#", "dB", "off by", "dB (whole)", "off by (whole)"]
    rows = table("#", "operation", *right[1:], "gives", right=right)
    for loss in found.operations if every else worst:
        distances = [text for each in (loss.alone, loss.whole) for text in _format(each)]
        rows.add_row(str(loss.number), loss.operation, *distances, Text("; ".join(loss.results)))
    out.print(indent(rows))
    hidden = len(found.operations) - len(worst)
    if hidden and not every:
        out.print(f"  [dim]the {pluralize(len(worst), 'operation')} that lose most alone; --all shows {hidden} more[/]")


def describe_outputs(found: ModelLoss) -> str:
    outputs = (f"{loss.results[0]} {_describe(loss.whole)}" for loss in found.outputs)
    samples = pluralize(found.samples, "input")
    if found.agreeing is None:
        return f"{', '.join(outputs)} on {samples}"
    return f"{', '.join(outputs)}; {found.agreeing} of {samples} with the same greatest score"


def write_losses(file: Path, quantized: Model, found: ModelLoss, title: str) -> None:
    """Write a page: the graph of the quantized model, colored by the loss of each operation alone, and all numbers."""
    steps = [
        {**asdict(loss), "verdict": name_level(loss.alone), "reason": "", "grown": loss.whole}
        for loss in found.operations
    ]
    page = comparison_page(
        model_data(quantized),
        steps,
        title,
        COLORS,
        f"{describe_outputs(found)}. 'On equal inputs': the loss of each operation alone, on the float model's values.",
    )
    write_text(file, page)


def name_level(distance: Distance | None) -> str:
    if distance is None:
        return UNKNOWN
    return next((name for least, name in LEVELS.items() if _decibels(distance) >= least), LOWEST)


def _decibels(distance: Distance | None) -> float:
    """Return the decibels, infinite if nothing differs."""
    return math.inf if distance is None or distance.decibels is None else distance.decibels


def _describe(distance: Distance | None) -> str:
    if distance is None or distance.decibels is None:
        return "equal"
    return f"{distance.decibels:.1f} dB"


def _format(distance: Distance | None) -> Sequence[str]:
    if distance is None:
        return "", ""
    return _describe(distance).removesuffix(" dB"), f"{distance.largest:.3g}"
