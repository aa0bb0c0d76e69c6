"""Every link in a Markdown file of the repository leads to a file that is there, and to a heading
of it. Addresses elsewhere are not asked: a test needs no network."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
# The handbook has links of a wiki, some of them broken on purpose; tests have texts to be parsed.
ELSEWHERE = ("examples/", "tests/", "bench/", "src/pecia/features/", "web/")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def documents() -> list[str]:
    ask = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(ask, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return sorted(
        it
        for it in listed.split("\0")
        if it and not it.startswith(ELSEWHERE) and (ROOT / it).is_file()
    )


def links(text: str) -> Iterator[str]:
    return (it[1] for it in LINK.finditer(CODE.sub("", FENCE.sub("", text))))


@cache
def anchors(file: Path) -> frozenset[str]:
    """The names of the headings, as GitHub and MkDocs make them: they agree where no heading has
    signs that one of them keeps."""
    seen = Counter[str]()
    found: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", file.read_text(encoding="utf-8"))):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        name = re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return frozenset(found)


def problem(document: str, link: str) -> str | None:
    path, _, anchor = link.partition("#")
    if SCHEME.match(link):
        return None
    target = (ROOT / document).parent / unquote(path) if path else ROOT / document
    if not target.exists():
        return f"{link}: no such file"
    if anchor and target.suffix == ".md" and anchor not in anchors(target):
        return f"{link}: no such heading"
    return None


@pytest.mark.parametrize("document", documents())
def test_every_link_of_a_document_leads_somewhere(document: str) -> None:
    found = links((ROOT / document).read_text(encoding="utf-8"))
    assert [it for link in found if (it := problem(document, link))] == []


def test_a_broken_link_is_noticed() -> None:
    assert [*links("See [a](b.md#c) and `[x](y)`, ![p](<d.svg>).")] == ["b.md#c", "d.svg"]
    assert problem("README.md", "docs/nowhere.md") == "docs/nowhere.md: no such file"
    assert problem("README.md", "docs/commands.md#nothing-there") is not None
    assert problem("README.md", "#start") is None
