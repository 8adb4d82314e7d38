"""Draw the layers of the import contract as docs/images/layers.svg.

python tools/draw_layers.py           write the picture
python tools/draw_layers.py --check   exit with 1 if the picture is not that of the contract
"""

import argparse
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "layers.svg"
WIDTH, HEIGHT, GAP, LEFT = 108, 34, 10, 8
NOTES = {
    "cli": "one file per command",
    "demo": "the demonstration",
    "api": "what the commands do, as functions",
    "release": "a lot, secret copies, the exact test",
    "agent_runs": "runs of agents · logs of evaluations · the gate on a change",
    "scan": "benchmarks looked up in a corpus",
    "authorship": "who wrote it, audits and indexes: each describes its own result",
    "training": "the one training loop · corpora become documents · texts of known truth",
    "scoring": "engine · fingerprints, postings, vectors",
    "run": "the life of a long command",
    "scores": "pure functions, backends, samples, statistics, code, renderers",
    "database": "one set-up of SQLite",
    "guard": "limits for bytes of others",
    "files": "atomic files, the table of languages, entry points, progress, retries",
    "types": "the values that flow",
    "errors": "exceptions, JSON of values, escaping, Python's parser",
}
"""First package of a layer → what the layer is for."""

STYLE = """
#layers { --ink: var(--md-default-fg-color, #24292f); --soft: var(--md-default-fg-color--light, #57606a);
  --line: var(--md-default-fg-color--lighter, #afb8c1); font-family: system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { #layers { --ink: var(--md-default-fg-color, #e6edf3);
  --soft: var(--md-default-fg-color--light, #9ea7b3); --line: var(--md-default-fg-color--lighter, #484f58); } }
#layers rect { fill: none; stroke: var(--line); }
#layers text { fill: var(--ink); font-size: 14px; }
#layers .name { font-weight: 600; text-anchor: middle; }
#layers .note { fill: var(--soft); font-size: 12px; }
#layers path { fill: none; stroke: var(--soft); stroke-width: 1.4; }
#layers .head { fill: var(--soft); stroke: none; }
"""


def layers() -> list[list[str]]:
    """Return the layers of the contract, top to bottom; packages of one layer do not import each other."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]["layers"]
    return [layer.replace(" ", "").split("|") for layer in contract]


def drawing(rows: Sequence[Sequence[str]]) -> str:
    """Return the picture: one row a layer, an arrow from each row to the next."""
    # colours come from the theme of the manual where there is one, and from the reader's setting elsewhere
    widest = max(map(len, rows))
    width = LEFT * 2 + widest * (WIDTH + GAP)
    pitch = HEIGHT + 40
    parts = []
    for number, row in enumerate(rows):
        top = LEFT + number * pitch
        for place, name in enumerate(row):
            left = LEFT + place * (WIDTH + GAP)
            parts.append(f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" rx="7"/>')
            parts.append(f'<text class="name" x="{left + WIDTH / 2:g}" y="{top + 22}">{escape(name)}</text>')
        parts.append(f'<text class="note" x="{LEFT + 24}" y="{top + HEIGHT + 17}">{escape(NOTES[row[0]])}</text>')
        if number + 1 < len(rows):
            end = top + pitch - 6
            parts.append(f'<path d="M{LEFT + 12} {top + HEIGHT}V{end}"/>')
            parts.append(f'<path class="head" d="M{LEFT + 8} {end - 1}h8l-4 7z"/>')
    described = "; then ".join(map(" and ".join, rows))
    return (
        f'<svg id="layers" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {LEFT + len(rows) * pitch - 14}" '
        'role="img" aria-labelledby="layers-title layers-desc">\n'
        '<title id="layers-title">The packages of assay in layers; imports go down only</title>\n'
        f'<desc id="layers-desc">Layers from top to bottom: {described}.</desc>\n'
        f"<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def main() -> int:
    """Write the picture, or compare it with the contract."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    picture = drawing(layers())
    if parser.parse_args().check:
        if PICTURE.read_text("utf-8") == picture:
            return 0
        print(f"{PICTURE.relative_to(ROOT)} is not the picture of the contract: run tools/draw_layers.py")
        return 1
    PICTURE.write_text(picture, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
