"""What a caller is shown of a command: bounded, with its origin and with warnings. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from pecia.rooms.wiki.shell.commands.ends import DEFAULT, KNOWN
from pecia.rooms.wiki.shell.commands.grep import wanted as grep_wanted
from pecia.rooms.wiki.shell.commands.io import lines_of
from pecia.rooms.wiki.shell.options import Misused, read_options
from pecia.rooms.wiki.shell.parse import Stage
from pecia.rooms.wiki.shell.run import Ran
from pecia.rooms.wiki.shell.tree import Tree

MOST_LINES = 500
MOST_BYTES = 50 * 1024
BINARY = (
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".pdf", ".zip", ".gz", ".tar", ".mp3"),
    *(".mp4", ".mov", ".woff", ".woff2", ".ttf", ".exe", ".bin", ".sqlite", ".db"),
)


@dataclass(frozen=True, slots=True)
class Shown:
    text: str
    truncated: bool
    warnings: tuple[str, ...]


def shown(stages: Sequence[Stage], ran: Ran, tree: Tree) -> Shown:
    """The output as far as it is shown, under a line that says of what."""
    body, left = _bounded(ran.stdout)
    header = _header(stages, ran, tree)
    marker = f"\n… truncated: {left} more lines" if left else ""
    return Shown(f"{header}{body}{marker}", bool(left), tuple(_warnings(stages, ran)))


def referenced(stages: Sequence[Stage], ran: Ran, tree: Tree) -> list[str]:
    """The files and folders that the output speaks of, in its order, each once."""
    last, arguments = stages[-1].name, ran.arguments[-1]
    operands = [it for it in arguments if not it.startswith("-")]
    match last:
        case "cat" | "head" | "tail" if operands:
            named = operands
        case "grep" if len(stages) == 1:
            named = _of_grep(ran, list(arguments))
        case "find":
            named = lines_of(ran.stdout)
        case "ls":
            named = _of_ls(ran, operands, tree)
        case _:
            named = _of_words(ran.stdout)
    return _known(named, tree)


def _of_grep(ran: Ran, arguments: list[str]) -> list[str]:
    try:
        files = list(grep_wanted(arguments)[1].operands)
    except Misused:
        return []
    return [
        *(it for it in files if len(files) == 1),
        *(it.partition(":")[0] for it in lines_of(ran.stdout)),
    ]


def _of_ls(ran: Ran, operands: Sequence[str], tree: Tree) -> list[str]:
    folder = operands[0] if operands else "."
    lead = "" if folder in (".", "/", "./") else f"{folder.rstrip('/')}/"
    return [f"{lead}{it.split()[-1].rstrip('/')}" for it in lines_of(ran.stdout) if it.strip()]


def _of_words(text: str) -> list[str]:
    words = text.replace(":", " ").split()
    return [it for it in words if it.lower().endswith((".md", ".mdx"))]


def _known(named: Sequence[str], tree: Tree) -> list[str]:
    found: dict[str, None] = {}
    for it in named:
        if ".." in it.split("/"):
            continue
        path = tree.resolve(it)
        if path and (tree.is_file(path) or tree.is_folder(path)):
            found[path] = None
    return [*found]


def _header(stages: Sequence[Stage], ran: Ran, tree: Tree) -> str:
    if len(stages) != 1:
        return ""
    operands = [it for it in ran.arguments[0] if not it.startswith("-")]
    match stages[0].name:
        case "ls" if len(operands) == 1 and tree.is_folder(tree.resolve(operands[0])):
            return f"{operands[0].rstrip('/')}/:\n"
        case "cat" | "head" | "tail" if len(operands) == 1 and tree.is_file(
            tree.resolve(operands[0])
        ):
            return f"==> {operands[0]} <==\n"
        case _:
            return ""


def _warnings(stages: Sequence[Stage], ran: Ran) -> list[str]:
    found: list[str] = []
    for stage, arguments in zip(stages, ran.arguments, strict=True):
        if stage.name == "cat":
            found += [
                f"{it} looks like a binary file" for it in arguments if it.lower().endswith(BINARY)
            ]
    limit = _limit(stages[-1].name, ran.arguments[-1])
    if limit is not None and len(lines_of(ran.stdout)) >= limit > 0:
        found.append(f"{stages[-1].name} reached its limit of {limit} lines: there may be more")
    return [*found, *ran.stderr]


def _limit(name: str, arguments: Sequence[str]) -> int | None:
    if name not in ("head", "tail"):
        return None
    try:
        text = read_options(arguments, KNOWN).last("n")
    except Misused:
        return None
    if text is None:
        return DEFAULT
    return int(text) if text.isdigit() else None


def _bounded(text: str) -> tuple[str, int]:
    """The first lines, and how many were left out."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    kept: list[str] = []
    size = 0
    for line in lines[:MOST_LINES]:
        size += len(line.encode()) + 1
        if size > MOST_BYTES and kept:
            break
        kept.append(line)
    body = "\n".join(kept)
    if not len(lines) - len(kept) and len(body.encode()) <= MOST_BYTES:
        return text, 0
    # One endless line is cut inside, which counts as a line that is not whole.
    cut = body.encode()[:MOST_BYTES].decode(errors="ignore")
    return cut, max(1, len(lines) - len(kept))
