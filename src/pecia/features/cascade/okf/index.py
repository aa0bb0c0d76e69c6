"""Generates the index.md of a folder: concepts by type, then subfolders. Pure."""

from collections import defaultdict

from pecia.features.cascade.okf.lint.bundle import BundlePage, OkfBundle
from pecia.kernel.text.markdown.escapes import encode_path

VERSION = "0.2"


def render_indexes(bundle: OkfBundle) -> dict[str, str]:
    """The text of every index of the bundle, by path."""
    folders = {it.folder for it in bundle.concepts}
    above = {
        "/".join(it.split("/")[:depth]) for it in folders for depth in range(it.count("/") + 1)
    }
    every = sorted(folders | above | {""})
    return {f"{it}/index.md" if it else "index.md": render_index(bundle, it, every) for it in every}


def render_index(bundle: OkfBundle, folder: str, folders: list[str]) -> str:
    """One index. Only the root's states the OKF version."""
    by_type: defaultdict[str, list[str]] = defaultdict(list)
    for page in bundle.concepts:
        if page.folder == folder:
            by_type[_word(page, "type") or "document"].append(_line(page))
    parts = [f"# {kind}\n\n" + "\n".join(sorted(by_type[kind])) for kind in sorted(by_type)]
    below = [it for it in folders if it and it.rpartition("/")[0] == folder and it != folder]
    if below:
        lines = [f"* [{_leaf(it)}/]({encode_path(_leaf(it), angled=False)}/)" for it in below]
        parts.append("# Subdirectories\n\n" + "\n".join(lines))
    head = "" if folder else f'---\nokf_version: "{VERSION}"\n---\n\n'
    return head + "\n\n".join(parts) + "\n"


def _line(page: BundlePage) -> str:
    title = _word(page, "title") or page.name.removesuffix(".md")
    description = _word(page, "description")
    link = f"* [{title}]({encode_path(page.name, angled=False)})"
    return f"{link} - {description}" if description else link


def _word(page: BundlePage, key: str) -> str:
    value = page.okf.frontmatter.get(key) if page.okf else None
    return " ".join(value.split()) if isinstance(value, str) else ""


def _leaf(folder: str) -> str:
    return folder.rpartition("/")[2]
