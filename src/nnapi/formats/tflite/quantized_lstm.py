"""QUANTIZED_LSTM by TFLite's integer LSTM cell."""

from collections.abc import Iterable

from nnapi.formats.tflite.graph import Operator, Tensor

TANH = 4


def find_obstacle(
    proj_clip: float | None, has_peephole: bool, has_projection: bool, hidden: Tensor, output: Tensor
) -> str:
    if proj_clip:
        return f"proj_clip is {proj_clip}: TFLite clips the quantized values of the projection, not its float values"
    if has_peephole and has_projection:
        return "TFLite's integers are wrong where a cell has peepholes and a projection"
    if not hidden.same_quantization(output):
        return "output_state_out and output differ in scale or zero point: TFLite has one result for both"
    return ""


def cell_operator(
    inputs: list[Tensor | None],
    results: list[Tensor],
    gate_scales: Iterable[float],
    hidden_state: tuple[float, int],
    cell_clip: float | None,
) -> Operator:
    """Return one step; ``gate_scales`` are those of input, forget, cell and output gate before activation."""
    intermediates = [Tensor("i16", (1,), scale) for scale in gate_scales]
    intermediates.append(Tensor("i8", (1,), *hidden_state))
    options = {"activation": TANH, "cell_clip": float(cell_clip or 0), "proj_clip": 0.0}
    return Operator("LSTM", inputs, results, options, intermediates)
