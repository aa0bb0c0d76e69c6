"""Every file and folder that a document for developers names is there."""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FEATURES = ROOT / "src" / "pecia" / "features"
DOCUMENTS = [
    *(ROOT / name for name in ("ARCHITECTURE.md", "README.md", "CONTRIBUTING.md", "AGENTS.md")),
    *sorted(FEATURES.glob("*/README.md")),
]
SUFFIXES = (".py", ".sql", ".md", ".toml", ".mk", ".ts", ".svelte")
# What looks like a path of the repository: the data folder, what is installed, a concept's id.
ELSEWHERE = ("home/", ".venv/", "workshop/")
SOURCE = "/src/pecia"

CODE = re.compile(r"```.*?```|`[^`\n]+`|\]\([^)\s]+\)", re.DOTALL)
PATH = re.compile(r"(?<![^\s`(\[,;])[\w.*-]+(?:/[\w.*-]+)*/?(?![^\s`)\],;.])")


@cache
def tracked() -> tuple[str, ...]:
    """Files and folders, each with a slash before it; folders with one behind it too."""
    ask = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(ask, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    files = [Path(it) for it in listed.split("\0") if it and (ROOT / it).exists()]
    folders = {folder for it in files for folder in it.parents if folder.name}
    return (*(f"/{it}" for it in files), *(f"/{it}/" for it in folders))


def named_paths(text: str) -> Iterator[str]:
    """Words in code or links that end as a source file or a folder does, or have a slash."""
    for code in CODE.findall(text):
        for path in PATH.findall(code):
            name = path.removesuffix(".").removeprefix("./")
            is_file = name.endswith(SUFFIXES) and name not in SUFFIXES
            if (is_file or "/" in name) and not name.startswith(ELSEWHERE):
                yield name


def exists(path: str, document: Path) -> bool:
    """With a slash from any folder; a bare name beside the document or below its own sources."""
    shape = re.escape(path.removesuffix("/")).replace(r"\*", "[^/]*")
    # A migration may be named by its number alone.
    number = r"(_[^/]+)?" if path[-1].isdigit() else ""
    end = f"/{shape}{number}{'/' if path.endswith('/') else '/?'}$"
    if "/" in path.removesuffix("/"):
        return any(re.search(end, it) for it in tracked())
    inside = SOURCE if document.parent == ROOT else f"/{document.parent.relative_to(ROOT)}"
    return any(
        re.match(end, it) or (it.startswith(inside) and re.search(end, it)) for it in tracked()
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda it: str(it.relative_to(ROOT)))
def test_every_path_that_a_document_names_exists(document: Path) -> None:
    named = dict.fromkeys(named_paths(document.read_text(encoding="utf-8")))
    assert [it for it in named if not exists(it, document)] == []
