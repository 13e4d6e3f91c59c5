"""Pages in a headless Chromium: what a script run in the page finds, and what the browser complains of."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--enable-logging=stderr",
    "--window-size=1200,900",
    "--dump-dom",
)


def ask(page: str, script: str, folder: Path, *flags: str) -> Any:
    """Return the result (JSON) of the script after the page has loaded; fail on any message in the browser's console.

    Skips where no browser is installed.
    """
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        pytest.skip(f"none of {', '.join(NAMES)} is installed")
    question = f"""<script>addEventListener("load", () => {{
        const answer = (() => {{ {script} }})();
        document.body.setAttribute("data-answer", JSON.stringify(answer));
    }});</script>"""
    file = folder / "page.html"
    file.write_text(page.replace("</body>", f"{question}</body>"), encoding="utf-8")
    command = [browser, *FLAGS, *flags, f"--user-data-dir={folder / 'profile'}", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    violations = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not violations, violations
    answer = re.search(r'data-answer="([^"]*)"', done.stdout)
    assert answer, "the script did not come to its end"
    return json.loads(html.unescape(answer[1]))
