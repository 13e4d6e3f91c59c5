"""Write the generated files of the repository.

    python -m tools.pages [--check] [FILE…]

Without FILE, the program writes each file that needs only the repository, and lists the others with their commands.
With FILE, it writes the named ones; SHARED is the folder that NNAPI_SHARED names (by default ../shared). With
--check, it writes nothing, and the exit code is 1 if a file is out of date.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

from tools.size import REPOSITORY


class Page(NamedTuple):
    """A generated file, and the arguments of Python that print it, or write it with ``is_printed=False``.

    ``section`` is the heading of the section that is printed, if the file has others. ``needs`` are the requirements
    besides the repository.
    """

    path: str
    command: str
    section: str = ""
    needs: str = ""
    is_printed: bool = True


PAGES = (
    Page("docs/operations.md", "-m tools.operations"),
    Page("docs/composites.md", "-m tools.operations composites"),
    Page("docs/result-codes.md", "-m tools.result_codes"),
    Page("docs/automation.md", "-m tools.automation"),
    Page("docs/layers.svg", "-m tools.layers"),
    Page("src/nnapi/model/builder_operations.pyi", "-m tools.builder_stub"),
    Page("CONTRIBUTING.md", "-m tools.operation_files", "## The files of an operation"),
    Page("docs/accepted.md", "benchmarks/accepted.py"),
    Page("docs/onnx.md", "-m benchmarks.onnx_nodes"),
    Page("src/nnapi/importers/onnx/schemas.txt", "-m tools.onnx_schemas"),
    Page("src/nnapi/importers/onnx/rule_modules.txt", "-m tools.onnx_rule_modules"),
    Page("docs/non-finite.md", "-m tools.non_finite", needs="the processor that the page names"),
    Page("docs/export.md", "-m benchmarks.exported --step 8 --models SHARED/models", needs="models; many minutes"),
    Page("docs/htp-conformance.md", "-m benchmarks.htp", needs="Qualcomm's compiler; about an hour"),
    Page("docs/webnn.md", "-m benchmarks.webnn SHARED/w3c", needs="the W3C's tests"),
    Page("docs/run-models.md", "-m tools.run_models SHARED", needs="models and pictures; many minutes"),
    Page("docs/gallery/", "-m tools.gallery SHARED", needs="models, pictures and scikit-image", is_printed=False),
    Page("docs/charts/", "-m tools.charts", is_printed=False),
    Page("docs/demo.svg", "-m tools.picture docs/demo.svg make demo", needs="a quiet machine", is_printed=False),
    Page(
        "src/nnapi/drivers/webgpu/proven_patterns.txt",
        "-m tools.webgpu_patterns",
        needs="Vulkan; a quarter of an hour",
        is_printed=False,
    ),
)
SEPARATOR = "\n## "


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; name the files that are out of date")
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args(arguments)
    if unknown := set(options.files) - {page.path for page in PAGES}:
        parser.error(
            f"{', '.join(sorted(unknown))}: not generated; generated: {', '.join(page.path for page in PAGES)}"
        )
    chosen = [page for page in PAGES if (page.path in options.files if options.files else not page.needs)]
    wrong = [page for page in chosen if not refresh(page, options.check)]
    if not options.files:
        print("not written, because they need more than the repository:")
        for page in PAGES:
            if page.needs:
                print(f"  {page.path} ({page.needs}): python {page.command}")
    return 1 if wrong else 0


def refresh(page: Page, only_check: bool) -> bool:
    """Write a page if it is out of date. Return False if that fails, or if it is out of date and only checked."""
    if only_check and not page.is_printed:
        print(f"{page.path}: cannot be checked, because its program writes it")
        return True
    shared = os.environ.get("NNAPI_SHARED") or str(REPOSITORY.parent / "shared")
    words = [word.replace("SHARED", shared) for word in page.command.split()]
    done = subprocess.run([sys.executable, *words], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        print(f"{page.path}: python {page.command} fails; the file is unchanged")
        return False
    file = REPOSITORY / page.path
    if not page.is_printed:
        print(f"{page.path}: written")
        return True
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    after = replace_section(before, page.section, done.stdout) if page.section else done.stdout
    if after == before:
        print(f"{page.path}: up to date")
    elif only_check:
        print(f"{page.path}: out of date")
    else:
        file.write_text(after, encoding="utf-8")
        print(f"{page.path}: written")
    return after == before or not only_check


def replace_section(text: str, heading: str, section: str) -> str:
    """Replace the section with a heading, up to the next heading of the same level."""
    before, _, rest = text.partition(f"\n{heading}\n")
    _, separator, after = rest.partition(SEPARATOR)
    return f"{before}\n{section.rstrip()}\n{separator}{after}"


if __name__ == "__main__":
    sys.exit(main())
