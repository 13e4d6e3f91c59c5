"""Convert tables of supported operations and types, as other programs write them, to profiles."""

import csv
import io
from pathlib import Path

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.profiles.profile import OperandLimits, OperationLimits, Profile
from nnapi.store.files import read_bounded

COLUMNS = ["operation", "type", "supported"]
MOST = 4 << 20
ANSWERS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def read_matrix(path: Path) -> Profile:
    """Read a CSV file with the columns operation, type (of the first operand) and supported (yes or no, true or false,
    1 or 0). Operations without a supported type are refused. BadDataError if the file is invalid; OSError."""
    types: dict[OperationCode, set[int]] = {}
    try:
        with io.StringIO(read_bounded(path, MOST).decode("utf-8-sig"), newline="") as file:
            rows = csv.DictReader(file)
            names = [name.strip().lower() for name in rows.fieldnames or ()]
            need(set(COLUMNS) <= set(names), f"{path}: the first line must name {', '.join(COLUMNS)}", BadDataError)
            rows.fieldnames = names
            for row in rows:
                operation, type, supported = ((row[column] or "").strip() for column in COLUMNS)
                where = f"{path}: line {rows.line_num}"
                code = OperationCode.__members__.get(operation.upper())
                operand = OperandCode.__members__.get(type.upper()) or OperandCode.__members__.get(
                    f"TENSOR_{type}".upper()
                )
                if code is None or operand is None:
                    raise BadDataError(f"{where}: NNAPI has no {operation if code is None else type}")
                need(
                    supported.lower() in ANSWERS,
                    f"{where}: supported must be yes or no, is {supported!r}",
                    BadDataError,
                )
                if ANSWERS[supported.lower()]:
                    types.setdefault(code, set()).add(operand)
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadDataError(f"{path}: {error}") from None
    limits = {code: OperationLimits(OperandLimits(tuple(sorted(found)))) for code, found in types.items()}
    return Profile(path.stem, source=f"the table {path.name}", operations=limits)
