"""Fetches the texts that the labels of `bench/ckf_labels` are about; they are not committed.

    python -m bench.ckf_texts FOLDER [--clones FOLDER]

Debian packages come by `apt-get download`, repositories by `git clone` at a fixed commit, or from
bare clones in `--clones`, named OWNER+NAME. What differs from the labelled text is named.
"""

import argparse
import gzip
import hashlib
import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).with_name("ckf_labels")
MAX_CHARS = 40_000
ARTICLES = 8


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--clones", type=Path)
    asked = options.parse_args()
    catalog = json.loads((HERE / "texts.json").read_text("utf-8"))
    cache: Path = asked.folder / "downloads"
    cache.mkdir(parents=True, exist_ok=True)
    differing: list[str] = []
    for entry in catalog["texts"]:
        text = fetch_text(entry, catalog["repositories"], cache, asked.clones)
        (asked.folder / f"{entry['name']}.txt").write_text(text, "utf-8")
        if hash_text(text) != entry.get("sha256", hash_text(text)):
            differing.append(entry["name"])
    print(f"{len(catalog['texts'])} texts, {len(differing)} differ from the labelled ones")
    print("\n".join(differing))
    return 1 if differing else 0


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def fetch_text(
    entry: dict[str, Any], repositories: dict[str, Any], cache: Path, clones: Path | None
) -> str:
    if "package" in entry:
        raw = _read_package(entry["package"], entry["path"], cache)
        if entry["path"].endswith(".gz"):
            raw = gzip.decompress(raw)
        text = _package_text(entry["path"], raw)
    else:
        name, commit = repositories[entry["repository"]]
        text = _read_repository(entry, _clone(name, cache, clones), commit)
    return _cut(text.replace("\r\n", "\n"), entry.get("start", 0))


def _read_package(package: str, path: str, cache: Path) -> bytes:
    found = sorted(cache.glob(f"{package}_*.deb"))
    if not found:
        subprocess.run(["apt-get", "download", package], cwd=cache, check=True)
        found = sorted(cache.glob(f"{package}_*.deb"))
    archive = subprocess.run(
        ["dpkg-deb", "--fsys-tarfile", str(found[0])],
        check=True,
        capture_output=True,
    ).stdout
    return subprocess.run(
        ["tar", "-xO", f"./{path}"],
        check=True,
        input=archive,
        capture_output=True,
    ).stdout


def _package_text(path: str, raw: bytes) -> str:
    if "/man/" in path:
        asked = ["groff", "-K", "utf8", "-T", "utf8", "-m", "man", "-P", "-c", "-r", "LL=80n", "-t"]
        text = subprocess.run(asked, check=True, input=raw, capture_output=True).stdout.decode()
        # A bold or underlined character is printed twice, with a backspace between.
        return re.sub(".\\x08", "", text)
    if path.endswith(".xml"):
        return _book_text(raw.decode())
    if path.endswith(".html"):
        return _page_text(raw.decode())
    return raw.decode()


def _page_text(source: str) -> str:
    """The paragraphs, titles, terms and list items of a page, one block each."""
    source = re.sub(r"<!--.*?-->|<(head|script|style)\b.*?</\1>", "", source, flags=re.DOTALL)
    source = re.sub(r"<li\b[^>]*>\s*(?:<p\b[^>]*>)?", "\n\n- ", source)
    # No line break is left inside a block.
    source = re.sub(r"[ \t]*\n(?!\n)[ \t]*", " ", source)
    source = re.sub(r"</?(?:p|h\d|dt|dd|div|tr|ul|ol|li)\b[^>]*>", "\n\n", source)
    text = html.unescape(re.sub(r"<[^>]+>", "", source)).replace("\xa0", " ")
    blocks = (" ".join(it.split()) for it in re.split(r"\n\s*\n", text))
    return "\n\n".join(it for it in blocks if it) + "\n"


def _book_text(source: str) -> str:
    """The paragraphs, titles and list items of a DocBook chapter, one block each."""
    source = re.sub(
        r"<!--.*?-->|<(screenshot|programlisting)\b.*?</\1>", "", source, flags=re.DOTALL
    )
    source = re.sub(r"<listitem\b[^>]*>\s*<para\b[^>]*>", "\n\n- ", source)
    source = re.sub(
        r"</?(?:para|title|term|entry|row|sect\d|chapter|note|tip)\b[^>]*>", "\n\n", source
    )
    text = html.unescape(re.sub(r"<[^>]+>|&app;", " ", source)).replace("\xa0", " ")
    blocks = (" ".join(it.split()) for it in re.split(r"\n\s*\n", text))
    return "\n\n".join(it for it in blocks if it) + "\n"


def _clone(name: str, cache: Path, clones: Path | None) -> Path:
    folder = name.replace("/", "+")
    if clones:
        return next(clones.glob(f"{folder}*/**/HEAD")).parent
    target = cache / folder
    if not target.exists():
        address = f"https://github.com/{name}"
        subprocess.run(["git", "clone", "--bare", address, str(target)], check=True)
    return target


def _read_repository(entry: dict[str, Any], clone: Path, commit: str) -> str:
    if "folder" in entry:
        return "\n\n".join(
            _show(clone, commit, it) for it in _list_files(clone, commit, entry["folder"])
        )
    text = _show(clone, commit, entry["path"])
    if entry["path"].endswith(".fsh"):
        return _leaflet_text(text)
    if entry["path"].endswith(".json"):
        return _articles_text(text, entry["first"])
    return text


def _show(clone: Path, commit: str, path: str) -> str:
    asked = ["git", "-C", str(clone), "show", f"{commit}:{path}"]
    return subprocess.run(asked, check=True, capture_output=True).stdout.decode()


def _list_files(clone: Path, commit: str, folder: str) -> list[str]:
    asked = ["git", "-C", str(clone), "ls-tree", "-r", "-z", "--name-only", commit, folder]
    found = subprocess.run(asked, check=True, capture_output=True).stdout.decode()
    return sorted((it for it in found.split("\0") if it.endswith(".md")), key=_natural_order)


def _natural_order(path: str) -> list[int]:
    return [int(it) for it in re.findall(r"\d+", path.rpartition("/")[2])]


def _leaflet_text(source: str) -> str:
    """The narrative of the sections, as text with one line per block."""
    found: list[str] = []
    for section in re.findall(r'text\.div = """(.*?)"""', source, re.DOTALL):
        lines = re.sub(r"\s+", " ", section)
        lines = re.sub(r"<li[^>]*>", "\n- ", lines)
        lines = re.sub(r"<(?:p|/p|div|br|/tr|h\d)[^>]*>", "\n\n", lines)
        lines = html.unescape(re.sub(r"<[^>]+>", " ", lines))
        found += [re.sub(r"[ \t]+", " ", it).strip() for it in lines.split("\n\n")]
    return "\n\n".join(it for it in found if it) + "\n"


def _articles_text(source: str, first: int) -> str:
    articles = json.loads(source)["data"][first : first + ARTICLES]
    return "\n\n".join(
        "\n\n".join([f"# {it['title']}", *(part["context"] for part in it["paragraphs"])])
        for it in articles
    )


def _cut(text: str, start: int) -> str:
    """A part of a long text, from one blank line to another."""
    first = text.index("\n\n", start) + 2 if start else 0
    if len(text) - first <= MAX_CHARS:
        return text[first:]
    return text[first : text.rindex("\n\n", first, first + MAX_CHARS) + 1]


_NOT_PROSE = re.compile(r"<!--.*?-->|<(screenshot|programlisting)\b.*?</\1>", re.DOTALL)
_BLOCK_TAG = re.compile(r"</?(?:para|title|term|entry|row|sect\d|chapter|note|tip)\b[^>]*>")


if __name__ == "__main__":
    sys.exit(main())
