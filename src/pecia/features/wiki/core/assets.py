"""Files that documents embed or link to. Pure."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from pecia.features.wiki.core.metadata import DocumentMetadata
from pecia.kernel.text.links.link import LinkKind
from pecia.kernel.text.links.name_index import NameIndex
from pecia.kernel.text.links.resolver import WIKI_RULES, AssetLink, LinkRules, resolve_link

IMAGES = frozenset((".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".avif", ".bmp", ".ico"))
VIDEOS = frozenset((".mp4", ".webm", ".mov", ".m4v", ".ogv"))


def find_referenced_assets(
    facts: Mapping[str, DocumentMetadata],
    names: NameIndex,
    files: Collection[str],
    rules: LinkRules = WIKI_RULES,
) -> dict[str, list[str]]:
    """The referenced files, each with its documents, in order."""
    by_leaf: dict[str, list[str]] = defaultdict(list)
    for it in sorted(files):
        by_leaf[it.rpartition("/")[2].casefold()].append(it)
    known = {*files}
    found: dict[str, set[str]] = defaultdict(set)
    for name, it in facts.items():
        for link in (mention.link for mention in (*it.links, *it.embeds)):
            meant = resolve_link(link, name, names, rules)
            if not isinstance(meant, AssetLink):
                continue
            path = meant.path if meant.path in known else None
            if path is None and link.kind is LinkKind.WIKI:
                path = find_nearest_file(
                    by_leaf.get(meant.path.rpartition("/")[2].casefold(), []), name
                )
            if path is not None:
                found[path].add(name)
    return {path: sorted(found[path]) for path in sorted(found)}


def media_kind(path: str) -> str | None:
    dot = path.rfind(".")
    extension = path[dot:].lower() if dot >= 0 else ""
    if extension in IMAGES:
        return "image"
    return "video" if extension in VIDEOS else None


def find_nearest_file(paths: list[str], source: str) -> str | None:
    """The shallowest below the source's folder; else the one with the shortest path."""
    folder = source.split("/")[:-1]

    def steps(path: str) -> tuple[bool, int, str]:
        parts = path.split("/")[:-1]
        same = 0
        while same < min(len(parts), len(folder)) and parts[same] == folder[same]:
            same += 1
        return same < len(folder), len(parts) + len(folder) - 2 * same, path

    return min(paths, key=steps, default=None)
