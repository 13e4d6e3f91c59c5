"""Recompute a network from a folder of `nnapi golden`, with its integers and NumPy alone: recompute_golden.py FOLDER"""

import json
import sys
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def windows(op, x, height, width, fill=0):
    down, right = op.get("dilation", (1, 1))
    x = np.pad(x, [(0, 0), *op["padding"], (0, 0)], constant_values=fill)
    x = sliding_window_view(x, ((height - 1) * down + 1, (width - 1) * right + 1), (1, 2))
    return x[:, :: op["stride"][0], :: op["stride"][1], :, ::down, ::right]  # axes 4 and 5 are those of a window


def multiply(x, factor, shift):  # in fixed point; both roundings are to the nearest integer, halves up
    x = ((x << np.maximum(shift, 0)) * factor + (1 << 30)) >> 31
    return (x + ((1 << np.maximum(-shift, 0)) >> 1)) >> np.maximum(-shift, 0)


def rescale(op, x, f, bias=0):
    first, second, *_ = (value for name, value in op.items() if name.endswith("_zero_point"))
    x, f = (x - first).astype(np.float64), (f - second).astype(np.float64)  # exact, and faster than integers
    if op["operation"] == "CONV_2D":
        x = np.tensordot(windows(op, x, *f.shape[1:3]), f, ([3, 4, 5], [3, 1, 2]))
    elif op["operation"] == "DEPTHWISE_CONV_2D":
        x = np.einsum("nhwcij,ijc->nhwc", windows(op, x.repeat(op["depth_multiplier"], 3), *f.shape[1:3]), f[0])
    else:
        x = x.reshape(-1, f.shape[1]) @ f.T if op["operation"] == "FULLY_CONNECTED" else x * f
    return multiply(x.astype(np.int64) + bias, op["multiplier"], op["shift"])


def add(op, x, y):
    x, y = (x - op["lhs_zero_point"]) << op["left_shift"], (y - op["rhs_zero_point"]) << op["left_shift"]
    x, y = multiply(x, op["lhs_multiplier"], op["lhs_shift"]), multiply(y, op["rhs_multiplier"], op["rhs_shift"])
    return multiply(x + op["sign"] * y, op["multiplier"], op["shift"])


def average(op, x):
    sums, counts = (windows(op, each, *op["size"]).sum((4, 5)) for each in (x, np.ones_like(x)))
    return np.sign(sums) * ((np.abs(sums) + counts // 2) // counts)


def softmax(op, x):
    powers = op["table"][x.max(op["axis"], keepdims=True) - x]
    sums = powers.sum(op["axis"], keepdims=True)
    return (2 * op["steps"] * powers + sums) // (2 * sums)


def move(op, *inputs):
    if op["operation"] == "CONCATENATION":
        return np.concatenate(inputs, op["axis"])
    if op["operation"] == "PAD":
        return np.pad(inputs[0], op["paddings"], constant_values=op["fill"])
    return inputs[0].transpose(op["perm"]) if op["operation"] == "TRANSPOSE" else inputs[0].reshape(op["shape"])


RULES = {"rescale": rescale, "sum": add, "average": average, "softmax": softmax, "move": move}
RULES["mean"] = lambda op, x: x.sum(tuple(op["axes"]), keepdims=bool(op["keep_dims"] > 0)) // op["count"]
RULES["maximum"] = lambda op, x: windows(op, x, *op["size"], fill=op["low"]).max((4, 5))
RULES["table"] = lambda op, x: op["table"][x - op["lowest"]]
RULES["quantize"] = lambda op, x: np.trunc((x := np.float64(x / np.float32(op["scale"]))) + np.copysign(0.5, x))
RULES["dequantize"] = lambda op, x: (x - op["input_zero_point"]).astype(np.float32) * np.float32(op["scale"])

folder, different = Path(sys.argv[1]), 0
data = json.loads((folder / "golden.json").read_text())
with np.load(folder / "tensors.npz") as file:
    golden = dict(file)
given = [each["index"] for each in data["tensors"] if each["lifetime"] in ("constant", "input")]
values = {index: golden[f"t{index}"] for index in given}
for each in data["operations"]:
    if each["rule"] not in RULES:
        values |= {index: golden[f"t{index}"] for index in each["outputs"]}
        print(f"{each['operation']} (#{each['number']}): not recomputed, as it is computed by the rule {each['rule']}")
        continue
    op = {name: np.array(value) for name, value in (each["settings"] | each["integers"]).items()}
    inputs = [values[index] for indices in each["inputs"].values() for index in indices]
    inputs = [array if array.dtype.kind == "f" else array.astype(np.int64) for array in inputs]
    x = RULES[each["rule"]](op | {"operation": each["operation"]}, *inputs)
    if "low" in op:
        x = np.clip(x + op.get("out_zero_point", 0), op["low"], op["high"])
    right = golden[f"t{each['outputs'][0]}"]
    values[each["outputs"][0]] = x = x.astype(right.dtype)  # later operations read this result, not the folder's
    different += not np.array_equal(x, right)
    print(f"{each['operation']} (#{each['number']}): {np.count_nonzero(x != right)} of {x.size} elements differ")
sys.exit(different > 0)
