"""Print the picture of the package's layers (docs/layers.svg), from the table that tests/test_layout.py enforces.

python -m tools.layers > docs/layers.svg
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tests.test_layout import ROWS

WIDTH, HEIGHT, GAP, MARGIN = 118, 30, 8, 12
STYLE = """
  .box { fill: #eef1fb; stroke: #3f51b5; }
  text { font: 13px sans-serif; fill: #1a237e; text-anchor: middle; }
  .note { fill: #666; text-anchor: start; }
"""


def main() -> None:
    print(draw(ROWS), end="")


def draw(rows: Sequence[Collection[str]]) -> str:
    """Draw one line of boxes per row, the highest layer on top."""
    widest = max(map(len, rows))
    width = 2 * MARGIN + widest * (WIDTH + GAP)
    boxes = []
    for line, row in enumerate(reversed(rows)):
        y = MARGIN + line * (HEIGHT + GAP)
        left = (width - len(row) * (WIDTH + GAP) + GAP) / 2
        for number, name in enumerate(sorted(row)):
            x = left + number * (WIDTH + GAP)
            boxes.append(f'<rect class="box" x="{x:g}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>')
            boxes.append(f'<text x="{x + WIDTH / 2:g}" y="{y + 20}">{name}</text>')
    bottom = MARGIN + len(rows) * (HEIGHT + GAP) + 14
    words = "A package imports packages below it, never beside or above it."
    note = f"""<text class="note" x="{MARGIN}" y="{bottom}">{words}</text>"""
    body = "\n".join([*boxes, note])
    height = bottom + MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f"<style>{STYLE}</style>\n{body}\n</svg>\n"
    )


if __name__ == "__main__":
    main()
