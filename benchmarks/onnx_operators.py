"""What becomes of ONNX's own node tests, by operator: writes docs/onnx.md.

python -m benchmarks.onnx_operators > docs/onnx.md
"""

from __future__ import annotations

from collections import Counter, defaultdict

from tests.importers.onnx.node_cases import Outcome, node_cases, outcome

HEAD = """# ONNX

<!-- Written by `python -m benchmarks.onnx_operators`. -->

`nnapi.load("model.onnx")` reads ONNX from opset 6 on, with the library `onnx` (`pip install 'nnapi[onnx]'`). Every
operator has a rule, or is replaced by those that ONNX defines it by, or is refused with a reason; all that is refused
in a file is listed in one error. Constants are computed while the file is read. int64 becomes int32 and float64
becomes float32, with a note in `Model.notes`. Dimensions that the file leaves open stay open where NNAPI can say so, or
are fixed by `nnapi.load(path, shapes={"x": (1, 3, 224, 224)})`.

The table says what becomes of ONNX's own tests of operators on `nnapi-reference`: *passed* as they are, *frozen* once
the inputs that say how an operator computes (shapes, axes, weights of recurrent cells, scales) are constants, as they
are in networks, or refused. None is wrong. Where tests are refused, the most frequent reason follows.
"""


def table() -> list[str]:
    """The rows, and the totals before them."""
    found: dict[str, list[Outcome]] = defaultdict(list)
    for case in node_cases():
        found[case.operator].append(outcome(case, "nnapi-reference"))
    totals = Counter(each.kind for outcomes in found.values() for each in outcomes)
    rows = [
        f"Of {sum(totals.values())} tests {totals['passed']} pass as they are, {totals['frozen']} with constants, and "
        f"{totals['refused']} are refused.",
        "",
        "| operator | passed | frozen | refused | why |",
        "| --- | --- | --- | --- | --- |",
    ]
    for operator, outcomes in sorted(found.items(), key=lambda item: item[0].lower()):
        kinds = Counter(each.kind for each in outcomes)
        reasons = Counter(each.reason.replace("|", "\\|") for each in outcomes if each.kind == "refused")
        why = reasons.most_common(1)[0][0] if reasons else ""
        counts = " | ".join(str(kinds[kind] or "") for kind in ("passed", "frozen", "refused"))
        name = operator if operator[0].isupper() else f"{operator}, written out"
        rows.append(f"| {name} | {counts} | {why[:160]} |")
    return rows


if __name__ == "__main__":
    print(HEAD)
    print("\n".join(table()))
