"""Read scanned digits with a float and with a quantized model, and show the scans and the answers in the terminal.

Both models run on every scan of the test split, on which they were not trained. The exit code is 1 if the accuracy of
either model is too low.
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

import nnapi

HERE = Path(__file__).parent
WHITE = 16  # the brightest pixel value; the models take pixel / WHITE
SHADES = " ░▒▓█"  # for terminals and logs without colors


@dataclass(frozen=True)
class Answers:
    """The results of one model on all scans."""

    title: str
    required: float  # the lowest accuracy that passes
    probabilities: np.ndarray  # (scans, 10), float32
    seconds: float  # for all scans
    devices: list[str]

    def accuracy(self, labels: np.ndarray) -> float:
        return float(np.mean(self.probabilities.argmax(axis=1) == labels))


def classify(title: str, path: Path, required: float, scans: np.ndarray) -> Answers:
    """Run the model in `path` on each scan; the input and output of a quantized model are int8 instead of float32."""
    model = nnapi.load(path)
    source, answer = model.operands[model.inputs[0]].type, model.operands[model.outputs[0]].type
    images = scans.reshape(-1, *source.dimensions).astype(np.float32) / WHITE
    if source.scale:
        images = np.clip(np.round(images / source.scale) + source.zero_point, -128, 127).astype(np.int8)

    compilation = nnapi.compile(model)
    with compilation.burst() as burst:
        start = time.perf_counter()
        outputs = np.concatenate([burst.run(image)[0] for image in images])
        seconds = time.perf_counter() - start
    if answer.scale:
        outputs = (outputs.astype(np.float32) - answer.zero_point) * answer.scale
    return Answers(title, required, outputs, seconds, [device.name for device in compilation.devices])


def picture(scan: np.ndarray, color: bool) -> Text:
    """Draw the scan in grays; a pixel is two characters wide, so it is about square."""
    text = Text()
    for row in scan.astype(int):
        for value in row:
            gray = 255 * value // WHITE
            if color:
                text.append("  ", style=f"on rgb({gray},{gray},{gray})")
            else:
                text.append(2 * SHADES[value * (len(SHADES) - 1) // WHITE])
        text.append("\n")
    return text


def caption(index: int, label: int, results: list[Answers]) -> Text:
    """Return the label of one scan, and each model's answer with its probability."""
    lines = [Text(f"{'truth':<9} {label}", style="bold")]
    for result in results:
        probabilities = result.probabilities[index]
        style = "green" if probabilities.argmax() == label else "bold red"
        lines.append(Text(f"{result.title:<9} {probabilities.argmax()} {probabilities.max():4.0%}", style))
    return Text("\n").join(lines)


def gallery(indices: np.ndarray, scans: np.ndarray, labels: np.ndarray, results: list[Answers], color: bool) -> Table:
    """Return some scans side by side, each with its caption."""
    grid = Table.grid(padding=(0, 3, 1, 0))
    grid.add_row(*(Group(picture(scans[i], color), caption(i, labels[i], results)) for i in indices))
    return grid


def summary(results: list[Answers], labels: np.ndarray) -> Table:
    """Return a table with each model's accuracy on the whole test split, its time per scan and its device."""
    table = Table(box=box.SIMPLE)
    for heading in ("model", "accuracy", "required", "wrong", "time per scan", "device"):
        table.add_column(heading, justify="left" if heading in ("model", "device") else "right")
    for result in results:
        accuracy = result.accuracy(labels)
        table.add_row(
            result.title,
            Text(f"{accuracy:.1%}", "bold green" if accuracy >= result.required else "bold red"),
            f"{result.required:.0%}",
            f"{round((1 - accuracy) * len(labels))} of {len(labels)}",
            f"{1000 * result.seconds / len(labels):.3f} ms",
            ", ".join(result.devices),
        )
    return table


def main() -> int:
    """Show a few scans and the summary; return the exit code."""
    with np.load(HERE / "digits_test.npz") as split:
        scans, labels = split["images"], split["labels"]
    results = [
        classify("float", HERE / "digits_float.tflite", 0.97, scans),
        classify("quantized", HERE / "digits_quant.tflite", 0.96, scans),
    ]

    console = Console(highlight=False)
    color = console.color_system is not None and not console.no_color
    hardest = np.mean([result.probabilities.max(axis=1) for result in results], axis=0).argsort()
    console.print(f"[bold]Four of {len(scans)} scans the models were not trained on[/bold]\n")
    console.print(gallery(np.arange(4), scans, labels, results, color))
    console.print("\n[bold]The four the models are least sure of[/bold]\n")
    console.print(gallery(hardest[:4], scans, labels, results, color))
    console.print(summary(results, labels))
    return 0 if all(result.accuracy(labels) >= result.required for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
