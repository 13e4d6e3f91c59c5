"""The order in which packages may import each other, and the size of files."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tests.rows import each_row
from tests.source_text import children
from tools import size

SRC = size.REPOSITORY / "src"
MODULES = sorted((SRC / "nnapi").rglob("*.py"))

# From the bottom up. A layer may import itself and the rows below it, not its neighbors in the same row.
# Concrete drivers are each a layer of their own in the row "drivers.*", and nobody else may import them.
ROWS = [
    {"operation_codes"},
    {
        *("closeable", "codes", "forks", "garbage_collection", "locks", "notebook_display", "pauses", "printable"),
        *("rewriting", "rule_table", "samples"),
    },
    {"shapes"},
    {"errors"},
    {"exits"},
    {"host", "trace"},
    {"store"},
    {"model"},
    {"formats", "ops", "restarting"},
    {"contract"},
    {"drivers", "drivers.base", "lowering", "profiles"},
    {"drivers.litert", "exporters"},
    {"drivers.faulty", "drivers.isolated", "drivers.limited"},
    {"drivers.*"},
    {"runtime"},
    {"importers"},
    {"compiling"},
    {"quantizers", "report", "testing", "vision"},
    {"capi", "cluster", "onnx"},
    {"delegate", "litert", "torch"},
    {"nnapi"},
    {"drop_in"},
    {"cli"},
]
RANK = {layer: rank for rank, row in enumerate(ROWS) for layer in row}

# Files over the limit, each with the reason why it is better whole.
LONG_FILES: dict[str, str] = {
    "tests/capi/capi_rules.py": "one table, a few lines for each function's rules",
    "tests/cli/test_option_effects.py": "one table, a row for each option of each command",
    "tests/lowering/tflite/test_canonical_rules.py": "one table, an example for each rule",
}


def layer(module: str) -> str:
    """The layer a module of nnapi belongs to."""
    _, *parts = module.split(".")
    if parts[-1:] == ["__main__"]:
        return "cli"
    return ".".join(parts[: 2 if parts[:1] == ["drivers"] else 1]) or "nnapi"


def is_concrete_driver(name: str) -> bool:
    return name.startswith("drivers.") and name not in RANK


def rank(name: str) -> int:
    return RANK["drivers.*"] if is_concrete_driver(name) else RANK[name]


def may_import(importer: str, imported: str) -> bool:
    return importer == imported or (not is_concrete_driver(imported) and rank(imported) < rank(importer))


def violations(module: str, source: str, *, is_package: bool = False) -> list[str]:
    return forbidden(module, imports(ast.parse(source), module if is_package else module.rpartition(".")[0]))


def forbidden(module: str, names: Iterable[str]) -> list[str]:
    return [f"{module} imports {name}" for name in names if not may_import(layer(module), layer(name))]


class Module(NamedTuple):
    """The imports of a module when it runs, and with those for type checking; whether it has a docstring."""

    imported: Set[str]
    imported_in_all: Set[str]
    is_documented: bool


@cache
def read_modules() -> dict[str, Module]:
    """All modules by name, read once; trees are not kept, because collections of garbage would visit them."""
    found = {}
    for path in MODULES:
        name, text = module_name(path), path.read_text()
        tree, below = ast.parse(text), children if "import_module" in text else statements
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        imported, in_all = (
            frozenset(imports(tree, package, also_for_types=types, below=below)) for types in (False, True)
        )
        found[name] = Module(imported, in_all, bool(ast.get_docstring(tree)))
    return found


def statements(node: ast.AST) -> list[ast.AST]:
    """Return the statements of a block, among which imports without `import_module` are."""
    blocks = (getattr(node, name, ()) for name in ("body", "orelse", "finalbody", "handlers", "cases"))
    return [each for block in blocks if isinstance(block, list) for each in block]


def imports(
    tree: ast.AST,
    package: str,
    *,
    also_for_types: bool = False,
    below: Callable[[ast.AST], list[ast.AST]] = children,
) -> Iterator[str]:
    """Modules of nnapi that the code imports when it runs, at its top or later, or for type checking as well."""
    ahead = [tree]
    while ahead:
        node = ahead.pop()
        yield from (name for name in imported_at(node, package) if name.split(".")[0] == "nnapi")
        if isinstance(node, ast.If) and is_type_checking(node.test) and not also_for_types:
            ahead += reversed(node.orelse)
        else:
            ahead += reversed(below(node))


def imported_at(node: ast.AST, package: str) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
        origin = ".".join([*above, *filter(None, [node.module])])
        submodules = [f"{origin}.{alias.name}" for alias in node.names]
        return [submodule if exists(submodule) else origin for submodule in submodules]
    return [imported] if (imported := imported_by_name(node)) else []


def imported_by_name(node: ast.AST) -> str | None:
    """The module that a call of import_module names by a literal, as in ``import_module("nnapi.ops")``."""
    match node:
        case ast.Call(
            func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            return name
    return None


def lead_back(imported: Mapping[str, Set[str]]) -> set[frozenset[str]]:
    """The modules or folders that lead to each other."""
    reached = {module: reach(module, imported) for module in imported}
    return {
        frozenset(other for other in reached[module] if module in reached.get(other, ()))
        for module in reached
        if module in reached[module]
    }


def reach(module: str, imported: Mapping[str, Set[str]]) -> set[str]:
    """All modules that a module imports, or what it imports, and so on."""
    found: set[str] = set()
    ahead = [module]
    while ahead:
        new = imported.get(ahead.pop(), set()) - found
        found |= new
        ahead += new
    return found


def is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


@cache
def exists(module: str) -> bool:
    path = SRC.joinpath(*module.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


def test_every_module_has_a_layer() -> None:
    layers = {name: layer(name) for name in map(module_name, MODULES)}
    assert [name for name in layers if layers[name] not in RANK and not is_concrete_driver(layers[name])] == []


def test_import_order() -> None:
    found = [forbidden(name, module.imported) for name, module in read_modules().items()]
    assert list(chain.from_iterable(found)) == []


def test_no_modules_import_each_other() -> None:
    assert lead_back({name: module.imported_in_all for name, module in read_modules().items()}) == set()


def beside(module: str, other: str) -> tuple[str, str] | None:
    """The parts of their nearest common folder in which the two lie; None if one contains the other."""
    parts, others = module.split("."), other.split(".")
    for depth, (part, another) in enumerate(zip(parts, others, strict=False), 1):
        if part != another:
            return ".".join(parts[:depth]), ".".join(others[:depth])
    return None


def folder_circles(imported: Mapping[str, Set[str]]) -> set[frozenset[str]]:
    """The modules and folders of one folder that lead to each other by what the modules in them import."""
    found: dict[str, set[str]] = {}
    for module, names in imported.items():
        for pair in filter(None, (beside(module, name) for name in names)):
            found.setdefault(pair[0], set()).add(pair[1])
    return lead_back(found)


def test_no_folders_import_each_other() -> None:
    """Nor does a folder import a module that imports it; programs (``__main__``), which nobody imports, aside."""
    imported = {
        name: module.imported_in_all for name, module in read_modules().items() if not name.endswith("__main__")
    }
    assert folder_circles(imported) == set()


def test_circles_of_folders_are_seen() -> None:
    imported = {
        "nnapi": {"nnapi.b.c"},
        "nnapi.a": {"nnapi.b.c.e"},
        "nnapi.b.c.d": {"nnapi.a"},
        "nnapi.b.c.e": {"nnapi.b.c.d", "nnapi.b"},
        "nnapi.b.f.g": {"nnapi.b.c.d"},
        "nnapi.b.c": {"nnapi.b.f.g"},
        "nnapi.b": {"nnapi.b.f.g"},
    }
    assert folder_circles(imported) == {frozenset({"nnapi.a", "nnapi.b"}), frozenset({"nnapi.b.c", "nnapi.b.f"})}


def test_no_files_of_the_agent_call_each_other() -> None:
    sources = {path.stem: path.read_text() for path in (size.REPOSITORY / "native" / "agent").glob("*.c")}
    defined = {
        name: file
        for file, source in sources.items()
        for name in re.findall(r"^(?!static )\w[\w *]*[ *](\w+)\([^;{]*\) {$", source, re.MULTILINE)
    }
    uses = {
        file: {defined[name] for name in re.findall(r"\b(\w+)\(", source) if name in defined} - {file}
        for file, source in sources.items()
    }
    assert {"objects", "runs"} <= uses["requests"]
    assert lead_back(uses) == set()


def test_circles_are_seen_wherever_they_are_imported() -> None:
    sources = {
        "nnapi.model.model": "from nnapi.model.operand import Operand",
        "nnapi.model.operand": "if TYPE_CHECKING:\n    from . import memory",
        "nnapi.model.memory": "def f():\n    import_module('nnapi.model.model')",
        "nnapi.model.call": "import nnapi.model.model",
    }
    imported = {
        module: set(imports(ast.parse(source), "nnapi.model", also_for_types=True))
        for module, source in sources.items()
    }
    assert lead_back(imported) == {frozenset(sources) - {"nnapi.model.call"}}


@each_row(
    ("module", "source"),
    [
        ("nnapi.errors", "from nnapi.codes import ResultCode"),
        ("nnapi.errors", "from nnapi import codes"),
        ("nnapi.model.operand", "from ..errors import need"),
        ("nnapi.model.operand", "from . import model"),
        ("nnapi.ops.add", "import numpy, nnapi.trace.span"),
        ("nnapi.drivers.litert.lowering", "from nnapi.contract.driver import Driver"),
        ("nnapi.drivers.litert.lowering", "from nnapi.drivers.litert import unsafe_graphs"),
        ("nnapi.drivers.litert.lowering", "import ai_edge_litert, nnapix"),
        ("nnapi.drivers.limited", "from nnapi.contract.driver import Driver"),
        ("nnapi.runtime.planning.plan", "from nnapi.drivers.limited import Limited"),
        ("nnapi.testing.random.calls", "from nnapi.runtime.planning.plan import Plan"),
        ("nnapi.testing.random.calls", "from nnapi.drivers.faulty import Faulty"),
        ("nnapi.cli.run", "import nnapi"),
        ("nnapi.__main__", "from nnapi.cli import main"),
        ("nnapi.ops.add", "if TYPE_CHECKING:\n    from nnapi.runtime.planning.plan import Plan"),
        ("nnapi.drivers.litert.lowering", "from nnapi.lowering.lower import require"),
    ],
)
def test_allowed(module: str, source: str) -> None:
    assert violations(module, source) == []


@each_row(
    ("module", "source", "imported"),
    [
        ("nnapi.codes", "from nnapi.errors import need", "nnapi.errors"),
        ("nnapi.errors", "from nnapi.trace.span import span", "nnapi.trace.span"),
        ("nnapi.trace.span", "from nnapi.model.operand import Operand", "nnapi.model.operand"),
        ("nnapi.model.operand", "from ..ops.add import ADD", "nnapi.ops.add"),
        ("nnapi.model.operand", "def f():\n    import nnapi.runtime.planning.plan", "nnapi.runtime.planning.plan"),
        ("nnapi.model.operand", "import nnapi", "nnapi"),
        ("nnapi.contract.driver", "from nnapi.drivers.limited import Limited", "nnapi.drivers.limited"),
        ("nnapi.drivers.xnnpack", "from nnapi.drivers.reference import driver", "nnapi.drivers.reference"),
        ("nnapi.drivers.webgpu.rules", "from nnapi.drivers.xnnpack import driver", "nnapi.drivers.xnnpack"),
        (
            "nnapi.lowering.lower",
            "from nnapi.drivers.litert import unsafe_graphs",
            "nnapi.drivers.litert.unsafe_graphs",
        ),
        ("nnapi.lowering.lower", "from nnapi.drivers.xnnpack import driver", "nnapi.drivers.xnnpack"),
        ("nnapi.drivers.xnnpack", "from nnapi.runtime.planning.plan import Plan", "nnapi.runtime.planning.plan"),
        ("nnapi.drivers.limited", "from nnapi.drivers.reference import driver", "nnapi.drivers.reference"),
        ("nnapi.runtime.planning.plan", "from nnapi.drivers.reference import driver", "nnapi.drivers.reference"),
        ("nnapi.report.html", "from nnapi.testing.random.calls import run", "nnapi.testing.random.calls"),
        ("nnapi.cli.run", "from nnapi.drivers.reference import driver", "nnapi.drivers.reference"),
        ("nnapi.ops.add", "if TYPE_CHECKING:\n    pass\nelse:\n    import nnapi.cli", "nnapi.cli"),
        ("nnapi.ops.add", "import_module('nnapi.runtime.device').devices()", "nnapi.runtime.device"),
        ("nnapi.ops.add", "importlib.import_module('nnapi.cli')", "nnapi.cli"),
    ],
)
def test_forbidden(module: str, source: str, imported: str) -> None:
    assert violations(module, source) == [f"{module} imports {imported}"]


def test_the_package_itself_may_import_all_but_the_command_and_drivers() -> None:
    source = "from .runtime.plan import Plan\nfrom .cli.run import main\nfrom .drivers.reference import driver"
    assert violations("nnapi", source, is_package=True) == [
        "nnapi imports nnapi.cli.run",
        "nnapi imports nnapi.drivers.reference",
    ]


def test_every_module_says_what_it_is() -> None:
    assert [name for name, module in read_modules().items() if not module.is_documented] == []


def test_long_files_have_a_reason() -> None:
    assert {file.name for file in size.long_files()} == set(LONG_FILES)
    assert all(LONG_FILES.values())
