"""Gathers `changes/` into a section of the changelog: `python -m scripts.changelog X.Y.Z`."""

import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
INTRO = "Lines of the next release wait in `changes/`.\n"


def gathered(changelog: str, version: str, day: str, lines: list[str]) -> str:
    """The changelog with one more section on top."""
    section = "\n".join(f"- {line}" for line in lines)
    return changelog.replace(INTRO, f"{INTRO}\n## {version} ({day})\n\n{section}\n", 1)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m scripts.changelog X.Y.Z")
    fragments = sorted(it for it in (ROOT / "changes").glob("*.md") if it.name != "README.md")
    lines = [it.read_text(encoding="utf-8").strip() for it in fragments]
    path = ROOT / "CHANGELOG.md"
    day = datetime.now(UTC).date().isoformat()
    path.write_text(gathered(path.read_text(encoding="utf-8"), sys.argv[1], day, lines), "utf-8")
    for fragment in fragments:
        fragment.unlink()


if __name__ == "__main__":
    main()
