"""Output of a command: truncated, with its origin and warnings. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from pecia.features.wiki.shell.commands.grep import parse_grep as grep_wanted
from pecia.features.wiki.shell.commands.head_tail import DEFAULT_LINES, OPTIONS
from pecia.features.wiki.shell.commands.io import lines_of
from pecia.features.wiki.shell.options import UsageError, parse_options
from pecia.features.wiki.shell.parse import PipelineStage
from pecia.features.wiki.shell.pipeline import PipelineResult
from pecia.features.wiki.shell.tree import FileTree

MAX_LINES = 500
MAX_OUTPUT_BYTES = 50 * 1024
BINARY_EXTENSIONS = (
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".pdf", ".zip", ".gz", ".tar", ".mp3"),
    *(".mp4", ".mov", ".woff", ".woff2", ".ttf", ".exe", ".bin", ".sqlite", ".db"),
)


@dataclass(frozen=True, slots=True)
class CommandOutput:
    text: str
    truncated: bool
    warnings: tuple[str, ...]


def format_output(
    stages: Sequence[PipelineStage], ran: PipelineResult, tree: FileTree
) -> CommandOutput:
    """The shown part of the output, under a header with its origin."""
    body, left = _truncate(ran.stdout)
    header = _header(stages, ran, tree)
    marker = f"\n… truncated: {left} more lines" if left else ""
    return CommandOutput(f"{header}{body}{marker}", bool(left), tuple(_warnings(stages, ran)))


def list_referenced_paths(
    stages: Sequence[PipelineStage], ran: PipelineResult, tree: FileTree
) -> list[str]:
    """The files and folders named in the output, in order, without duplicates."""
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
    return _existing_paths(named, tree)


def _of_grep(ran: PipelineResult, arguments: list[str]) -> list[str]:
    try:
        files = list(grep_wanted(arguments)[1].operands)
    except UsageError:
        return []
    return [
        *(it for it in files if len(files) == 1),
        *(it.partition(":")[0] for it in lines_of(ran.stdout)),
    ]


def _of_ls(ran: PipelineResult, operands: Sequence[str], tree: FileTree) -> list[str]:
    folder = operands[0] if operands else "."
    lead = "" if folder in (".", "/", "./") else f"{folder.rstrip('/')}/"
    return [f"{lead}{it.split()[-1].rstrip('/')}" for it in lines_of(ran.stdout) if it.strip()]


def _of_words(text: str) -> list[str]:
    words = text.replace(":", " ").split()
    return [it for it in words if it.lower().endswith((".md", ".mdx"))]


def _existing_paths(named: Sequence[str], tree: FileTree) -> list[str]:
    found: dict[str, None] = {}
    for it in named:
        if ".." in it.split("/"):
            continue
        path = tree.resolve(it)
        if path and (tree.is_file(path) or tree.is_folder(path)):
            found[path] = None
    return [*found]


def _header(stages: Sequence[PipelineStage], ran: PipelineResult, tree: FileTree) -> str:
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


def _warnings(stages: Sequence[PipelineStage], ran: PipelineResult) -> list[str]:
    found: list[str] = []
    for stage, arguments in zip(stages, ran.arguments, strict=True):
        if stage.name == "cat":
            found += [
                f"{it} looks like a binary file"
                for it in arguments
                if it.lower().endswith(BINARY_EXTENSIONS)
            ]
    limit = _limit(stages[-1].name, ran.arguments[-1])
    if limit is not None and len(lines_of(ran.stdout)) >= limit > 0:
        found.append(f"{stages[-1].name} reached its limit of {limit} lines: there may be more")
    return [*found, *ran.stderr]


def _limit(name: str, arguments: Sequence[str]) -> int | None:
    if name not in ("head", "tail"):
        return None
    try:
        text = parse_options(arguments, OPTIONS).last("n")
    except UsageError:
        return None
    if text is None:
        return DEFAULT_LINES
    return int(text) if text.isdigit() else None


def _truncate(text: str) -> tuple[str, int]:
    """The first lines, and how many were left out."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    kept: list[str] = []
    size = 0
    for line in lines[:MAX_LINES]:
        size += len(line.encode()) + 1
        if size > MAX_OUTPUT_BYTES and kept:
            break
        kept.append(line)
    body = "\n".join(kept)
    if not len(lines) - len(kept) and len(body.encode()) <= MAX_OUTPUT_BYTES:
        return text, 0
    # One endless line is cut inside, and counts as an incomplete line.
    cut = body.encode()[:MAX_OUTPUT_BYTES].decode(errors="ignore")
    return cut, max(1, len(lines) - len(kept))
