"""Print the modules of rules for ONNX operators, each with its operators. The importer finds rules by this table.

python -m tools.onnx_rule_modules > src/nnapi/importers/onnx/rule_modules.txt
"""

from importlib import import_module
from pkgutil import iter_modules

from nnapi.importers.onnx import rules
from nnapi.importers.onnx.operators import RULES


def list_modules() -> list[str]:
    names = [each.name for each in iter_modules(rules.__path__)]
    for name in names:
        import_module(f"{rules.__name__}.{name}")
    operators: dict[str, list[str]] = {}
    for kind, rule in sorted(RULES.own.items()):
        operators.setdefault(rule.__module__.removeprefix(f"{rules.__name__}."), []).append(kind)
    return [" ".join([name, *operators[name]]) for name in names if name in operators]


if __name__ == "__main__":
    print("\n".join(list_modules()))
