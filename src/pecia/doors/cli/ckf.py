"""`pecia ckf`: compile, check, compare, cut, verify and publish packages in files.

Only publishing needs a store; the rest reads and writes files.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pecia.doors.cli.terminal import FAILED, Misuse, Terminal, terminal_of
from pecia.kernel.errors import InvalidEnum, InvalidInput, Json, NotFound, OutOfRange, Unprocessable

# Whoever asks for another command must not pay for importing these.
if TYPE_CHECKING:
    from pecia.rooms.ckf.package.model import Package
    from pecia.rooms.ckf.package.render import Checked

FILES = typer.Argument(help="Packages, by name or by pattern (quoted): 'docs/**/*.ckf.md'.")
PACKAGE = typer.Argument(help="A package: .ckf, .ckf.json, .ckf.yaml or .ckf.md.")
SOURCE = typer.Option(None, help="The text that was compiled, to hold quotations against.")


def add_to(app: typer.Typer) -> None:
    verbs = typer.Typer(no_args_is_help=True, help="Knowledge packages in files.")
    for verb in (compile_file, validate, diff, slice_file, verify, publish):
        verbs.command(verb.__name__.removesuffix("_file"))(verb)
    app.add_typer(verbs, name="ckf")


def compile_file(
    ctx: typer.Context,
    file: Path = typer.Argument(help="A text or Markdown file."),
    format: str = typer.Option("markdown", help="json, yaml or markdown."),
    level: str = typer.Option("standard", help="light, standard, dense or agentic."),
    sidecar: bool = typer.Option(False, help="Write FILE.ckf.md beside the file."),
) -> None:
    """Compile a file into a package, without any model."""
    from pecia.rooms.ckf.heuristic.long import compile_long
    from pecia.rooms.ckf.options import CompileOptions, SourceText
    from pecia.rooms.ckf.package.codec import Format, encode
    from pecia.rooms.ckf.package.fields import COMPRESSION_LEVELS
    from pecia.rooms.ckf.package.model import Package
    from pecia.rooms.ckf.package.normal import compact

    terminal = terminal_of(ctx)
    _one_of("level", level, COMPRESSION_LEVELS)
    _one_of("format", format, [it.value for it in Format])
    source = SourceText(_long_enough(file), filename=file.name)
    options = CompileOptions(compression_level=level)

    def report(done: int, total: int) -> None:
        terminal.say(f"{done:,} of {total:,} characters")

    package = compile_long(source, options, report)
    if sidecar:
        target = file.with_name(f"{file.name}.ckf.md")
        target.write_text(encode(Package(compact(package)), Format.MARKDOWN), "utf-8")
        terminal.give({"file": str(target)}, lambda it: it.line(str(target)))
        return
    text = encode(Package(compact(package)), Format(format))
    terminal.give(package.body, lambda it: it.line(text.rstrip("\n")))


def validate(
    ctx: typer.Context,
    files: list[str] = FILES,
    source: Path | None = SOURCE,
    lenient: bool = typer.Option(False, help="A missing trace is a warning only."),
    sarif: bool = typer.Option(False, help="Write SARIF 2.1.0, for code hosts."),
) -> None:
    """Check packages. Exits with 1 exactly when one of them has an error."""
    from pecia.rooms.ckf.package.render import files_sarif

    terminal = terminal_of(ctx)
    text = _read(source) if source else None
    found = [_checked(it, text, strict=not lenient) for it in _named(files)]
    if sarif:
        terminal.line(json.dumps(files_sarif(found), ensure_ascii=False, indent=2))
    else:
        terminal.give([it.report() for it in found], lambda it: _show_findings(it, found))
    if not all(it.valid for it in found):
        raise typer.Exit(FAILED)


def diff(ctx: typer.Context, a: Path = PACKAGE, b: Path = PACKAGE) -> None:
    """Compare two packages, item by item."""
    from pecia.rooms.ckf.package.diff import diff as compare

    found = compare(_package(a), _package(b))
    terminal_of(ctx).give(found.report(), lambda it: it.line("\n".join(found.lines())))


def slice_file(
    ctx: typer.Context,
    file: Path = PACKAGE,
    query: str = typer.Argument(help="What is to be answered."),
    budget: int = typer.Option(1500, min=1, help="Tokens, never exceeded."),
) -> None:
    """Print the part of a package that a question needs, within a budget of tokens."""
    from pecia.rooms.ckf.package.slice import slice_package

    if not query.strip():
        raise Misuse(
            InvalidInput("QUERY is empty", field="query", expected="a question", got=query)
        )
    found = slice_package(_package(file), query, budget)
    report: dict[str, Json] = {
        "document": found.document,
        "tokens": found.tokens,
        "included": [*found.included],
        "left_out": [*found.left_out],
    }
    terminal_of(ctx).give(report, lambda it: it.line(found.document.rstrip("\n")))


def verify(
    ctx: typer.Context, file: Path = PACKAGE, source: Path = typer.Option(help="The text now.")
) -> None:
    """Re-read every quotation in the source. Exits with 1 if one does not hold."""
    from pecia.rooms.ckf.package.verify import Reread, State
    from pecia.rooms.ckf.package.verify import verify as reread

    found = reread(_package(file), {"": Reread(_read(source))})
    faults = [it for it in found.quotations if it.state is not State.HOLDS]
    lines = [f"{it.state.value:8} {it.item_id}: {it.excerpt[:100]}" for it in faults]
    terminal_of(ctx).give(
        {"holds": found.holds, "counts": {**found.counts()}, "stale": bool(found.stale)},
        lambda it: it.line("\n".join(lines) or f"{len(found.quotations)} quotations hold"),
    )
    if not found.holds:
        raise typer.Exit(FAILED)


def publish(
    ctx: typer.Context,
    file: Path = PACKAGE,
    slug: str | None = typer.Option(None, help="Else made of the title."),
    title: str | None = typer.Option(None, help="Else that of the source."),
    tag: list[str] | None = typer.Option(None, help="May be given several times."),
    visibility: str = typer.Option("tenant", help="private, tenant or public."),
) -> None:
    """Publish a package as a post. Under your own slug again, it is a new version."""
    from pecia.doors.cli.configured import settled
    from pecia.doors.cli.reach import found_tool, reached
    from pecia.doors.cli.render import show

    terminal = terminal_of(ctx)
    # Looked at here first: a file that is no package should not open a database.
    _package(file)
    asked: dict[str, Json] = {"package": _read(file), "visibility": visibility}
    asked["tags"] = [*(tag or ())]
    asked |= {name: it for name, it in (("slug", slug), ("title", title)) if it is not None}
    with reached(terminal, settled(terminal)) as tools:
        answer = tools.call(found_tool(tools.listing(), "ckf.publish"), asked)
    terminal.give(answer, lambda it: show(it, answer))


def _checked(file: str, source: str | None, *, strict: bool) -> "Checked":
    from pecia.rooms.ckf.package.codec import decode
    from pecia.rooms.ckf.package.render import Checked
    from pecia.rooms.ckf.package.validate import validate as check

    try:
        body = decode(_read(Path(file)), filename=file).body
    except Unprocessable as error:
        return Checked(file, broken=error)
    return Checked(file, check(body, strict=strict, source=source).findings)


def _show_findings(terminal: Terminal, found: "Iterable[Checked]") -> None:
    for it in found:
        terminal.line(f"{it.file}: {'valid' if it.valid else 'not valid'}")
        if it.broken:
            terminal.line(f"  error UNPROCESSABLE {it.broken.message}")
        for one in it.findings:
            terminal.line(f"  {one.severity.value} {one.code} {one.path}: {one.message}")


def _named(patterns: list[str]) -> list[str]:
    found: dict[str, None] = {}
    for pattern in patterns:
        path = Path(pattern)
        inside = str(path.relative_to(path.anchor))
        matches = [] if path.exists() else sorted(Path(path.anchor).glob(inside))
        # What matches nothing is read as a name, and so refused by name.
        found.update(dict.fromkeys(map(str, matches or [path])))
    return list(found)


def _package(file: Path) -> "Package":
    from pecia.rooms.ckf.package.codec import parse

    try:
        return parse(_read(file), filename=file.name)
    except Unprocessable as error:
        facts = {**error.fields, "hint": f"to make a package of a text: pecia ckf compile {file}"}
        raise Unprocessable(f"{file} is no package: {error.message}", **facts) from error


def _long_enough(file: Path) -> str:
    from pecia.rooms.ckf.inputs import SHORTEST_TEXT

    text = _read(file)
    if len(text) < SHORTEST_TEXT:
        message = f"{file} is too short (min {SHORTEST_TEXT} chars, got {len(text)})"
        raise OutOfRange(message, field="file", min=SHORTEST_TEXT, length=len(text))
    return text


def _read(file: Path) -> str:
    if file.is_dir():
        raise InvalidInput(f"{file} is a folder", field="file", expected="a file", got="a folder")
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise Unprocessable(
            f"{file}: not UTF-8 text", section="document", line=1, hint="save it as UTF-8"
        ) from error
    except OSError as error:
        raise NotFound(f"{file} cannot be read: {error.strerror}", file=str(file)) from error


def _one_of(field: str, value: str, allowed: Iterable[str]) -> None:
    known = list(allowed)
    if value not in known:
        message = f"--{field} must be one of {', '.join(known)}"
        raise Misuse(InvalidEnum(message, field=field, allowed=[*known], got=value))
