"""`pecia ckf`: compile, check, compare, cut, verify and publish packages in files.

Only publishing needs a store; the rest reads and writes files.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pecia.interfaces.cli.output.terminal import (
    EXIT_FAILED,
    CommandUsageError,
    Terminal,
    terminal_of,
)
from pecia.kernel.errors import InvalidEnum, InvalidInput, Json, NotFound, OutOfRange, Unprocessable

# Lazy imports: other commands must not load these.
if TYPE_CHECKING:
    from pecia.features.ckf.package.checks.sarif import CheckedFile
    from pecia.features.ckf.package.model import Package

FILES = typer.Argument(help="Packages, by name or by pattern (quoted): 'docs/**/*.ckf.md'.")
PACKAGE = typer.Argument(help="A package: .ckf, .ckf.json, .ckf.yaml or .ckf.md.")
SOURCE = typer.Option(None, help="The text that was compiled, to check quotations against.")


def add_to(app: typer.Typer) -> None:
    verbs = typer.Typer(no_args_is_help=True, help="Knowledge packages in files.")
    for verb in (compile_file, validate, diff, slice_file, verify, publish):
        verbs.command(verb.__name__.removesuffix("_file"))(verb)
    app.add_typer(verbs, name="ckf")


def compile_file(
    ctx: typer.Context,
    file: Path = typer.Argument(help="Markdown or text; of a PDF or office file, what it says."),
    format: str | None = typer.Option(
        None, help="json, yaml or markdown. Unset: by the name of --output, else markdown."
    ),
    output: Path | None = typer.Option(
        None,
        "--output",
        "-o",
        help="Write the package to this file: .ckf.json, .ckf.yaml, .ckf.md.",
    ),
    level: str = typer.Option("standard", help="light, standard, dense or agentic."),
    sidecar: bool = typer.Option(
        False, help="Write FILE.ckf.md beside the file, or .ckf.json or .ckf.yaml by --format."
    ),
) -> None:
    """Compile a file into a package, without any model."""
    from pecia.features.ckf.heuristic.long_text import compile_long_text
    from pecia.features.ckf.model import CompileOptions, SourceText, today
    from pecia.features.ckf.package.codec.codec import (
        PackageFormat,
        encode_package,
        format_by_name,
    )
    from pecia.features.ckf.package.fields import COMPRESSION_LEVELS
    from pecia.features.ckf.package.model import Package
    from pecia.features.ckf.package.normalize import compact_package

    terminal = terminal_of(ctx)
    _require_choice("level", level, COMPRESSION_LEVELS)
    if format is not None:
        _require_choice("format", format, [it.value for it in PackageFormat])
    if sidecar:
        ending = {"json": "json", "yaml": "yaml"}.get(format or "", "md")
        output = output or file.with_name(f"{file.name}.ckf.{ending}")
    source = SourceText(_read_long_text(file), filename=_readable(file.name))
    options = CompileOptions(compression_level=level, created_at=today())

    def report(done: int, total: int) -> None:
        terminal.info(f"{done:,} of {total:,} characters")

    package = compile_long_text(source, options, report)
    named = format_by_name(output.name) if output else None
    written = PackageFormat(format) if format else named or PackageFormat.MARKDOWN
    text = encode_package(Package(compact_package(package)), written)
    if output:
        _write(output, text)
        shown = _readable(str(output))
        terminal.print_result({"file": shown}, lambda it: it.print_line(shown))
    else:
        terminal.print_result(package.body, lambda it: it.print_line(text.rstrip("\n")))


def validate(
    ctx: typer.Context,
    files: list[str] = FILES,
    source: Path | None = SOURCE,
    lenient: bool = typer.Option(False, help="A missing trace is a warning only."),
    sarif: bool = typer.Option(False, help="Write SARIF 2.1.0, for code hosts."),
) -> None:
    """Check packages. Exits with 1 exactly when one of them has an error."""
    from pecia.features.ckf.package.checks.sarif import build_files_sarif

    terminal = terminal_of(ctx)
    text = _read(source) if source else None
    found = [_check_file(it, text, strict=not lenient) for it in _expand_patterns(files)]
    if sarif:
        terminal.print_line(json.dumps(build_files_sarif(found), ensure_ascii=False, indent=2))
    else:
        terminal.print_result([it.to_json() for it in found], lambda it: _show_findings(it, found))
    if not all(it.valid for it in found):
        raise typer.Exit(EXIT_FAILED)


def diff(ctx: typer.Context, a: Path = PACKAGE, b: Path = PACKAGE) -> None:
    """Compare two packages, item by item."""
    from pecia.features.ckf.package.diff.diff import diff_bodies as compare

    found = compare(_load_package(a), _load_package(b))
    terminal_of(ctx).print_result(
        found.to_json(), lambda it: it.print_line("\n".join(found.format_lines()))
    )


def slice_file(
    ctx: typer.Context,
    file: Path = PACKAGE,
    query: str = typer.Argument(help="What is to be answered."),
    budget: int = typer.Option(1500, min=1, help="Tokens, never exceeded."),
) -> None:
    """Print the part of a package that a question needs, within a budget of tokens."""
    from pecia.features.ckf.package.slice.slice import slice_package

    if not query.strip():
        raise CommandUsageError(
            InvalidInput("QUERY is empty", field="query", expected="a question", got=query)
        )
    found = slice_package(_load_package(file), query, budget)
    report: dict[str, Json] = {
        "document": found.document,
        "tokens": found.tokens,
        "included": [*found.included],
        "left_out": [*found.omitted],
    }
    terminal_of(ctx).print_result(report, lambda it: it.print_line(found.document.rstrip("\n")))


def verify(
    ctx: typer.Context, file: Path = PACKAGE, source: Path = typer.Option(help="The text now.")
) -> None:
    """Re-read every quotation in the source. Exits with 1 if one does not hold."""
    from pecia.features.ckf.package.verify import CurrentSource, QuotationState
    from pecia.features.ckf.package.verify import verify_quotations as reread

    found = reread(_load_package(file), {"": CurrentSource(_read(source))})
    faults = [it for it in found.quotations if it.state is not QuotationState.HOLDS]
    lines = [f"{it.state.value:8} {it.item_id}: {it.excerpt[:100]}" for it in faults]
    notes = ["The source has changed since the package was compiled."] if found.stale else []
    notes += ["The package was changed since it was compiled."] if found.altered else []
    report: dict[str, Json] = {
        "stale": bool(found.stale),
        "altered": found.altered,
        "holds": found.holds,
        "counts": {**found.counts()},
    }
    told = "\n".join([*notes, *(lines or [f"{len(found.quotations)} quotations hold"])])
    terminal_of(ctx).print_result(report, lambda it: it.print_line(told))
    if not found.holds:
        raise typer.Exit(EXIT_FAILED)


def publish(
    ctx: typer.Context,
    file: Path = PACKAGE,
    slug: str | None = typer.Option(None, help="Unset: made from the title."),
    title: str | None = typer.Option(None, help="Unset: that of the source."),
    tag: list[str] | None = typer.Option(None, help="May be repeated."),
    visibility: str = typer.Option("tenant", help="private, tenant or public."),
) -> None:
    """Publish a package as a post. Under your own slug again, it becomes a new version."""
    from pecia.interfaces.cli.output.render import show_document
    from pecia.interfaces.cli.tools.backend import open_backend

    terminal = terminal_of(ctx)
    # Checked first: a file that is no package should not open a database.
    _load_package(file)
    asked: dict[str, Json] = {"package": _read(file), "visibility": visibility}
    asked["tags"] = [*(tag or ())]
    asked |= {name: it for name, it in (("slug", slug), ("title", title)) if it is not None}
    with open_backend(terminal) as tools:
        answer = tools.call(tools.find_tool("ckf.publish"), asked)
    terminal.print_result(answer, lambda it: show_document(it, answer))


def _check_file(file: str, source: str | None, *, strict: bool) -> "CheckedFile":
    from pecia.features.ckf.package.checks.sarif import CheckedFile
    from pecia.features.ckf.package.checks.validate import validate_package as check
    from pecia.features.ckf.package.codec.codec import decode_document

    try:
        body = decode_document(_read(Path(file)), filename=file).body
    except Unprocessable as error:
        return CheckedFile(file, error=error)
    return CheckedFile(file, check(body, strict=strict, source=source).findings)


def _show_findings(terminal: Terminal, found: "Iterable[CheckedFile]") -> None:
    for it in found:
        terminal.print_line(f"{it.file}: {'valid' if it.valid else 'not valid'}")
        if it.error:
            terminal.print_line(f"  error UNPROCESSABLE {it.error.message}")
        for one in it.findings:
            terminal.print_line(f"  {one.severity.value} {one.code} {one.path}: {one.message}")


def _expand_patterns(patterns: list[str]) -> list[str]:
    found: dict[str, None] = {}
    for pattern in patterns:
        path = Path(pattern)
        inside = str(path.relative_to(path.anchor))
        matches = [] if path.exists() else sorted(Path(path.anchor).glob(inside))
        # A pattern without matches is read as a file name, for the error message.
        found.update(dict.fromkeys(map(str, matches or [path])))
    return list(found)


def _load_package(file: Path) -> "Package":
    from pecia.features.ckf.package.codec.codec import parse_package

    try:
        return parse_package(_read(file), filename=file.name)
    except Unprocessable as error:
        asked = f"TEXT --output {file}" if ".ckf" in file.name else str(file)
        facts = {**error.fields, "hint": f"to make a package of a text: pecia ckf compile {asked}"}
        raise Unprocessable(f"{file} is not a package: {error.message}", **facts) from error


def _read_long_text(file: Path) -> str:
    from pecia.features.ckf.tools.inputs import MIN_TEXT_CHARS

    text = _read_any(file)
    if len(text) < MIN_TEXT_CHARS:
        message = f"{file} is too short (min {MIN_TEXT_CHARS} chars, got {len(text)})"
        raise OutOfRange(message, field="file", min=MIN_TEXT_CHARS, length=len(text))
    return text


def _readable(name: str) -> str:
    """The name as text: what of it is no UTF-8 on the disk becomes U+FFFD."""
    return os.fsencode(name).decode("utf-8", "replace")


def _read_any(file: Path) -> str:
    """The text of a file: as it is in UTF-8, else as extracted from a PDF, office file or mail."""
    _require_file(file)
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        return _extract(file)
    except OSError as error:
        raise NotFound(f"{file} cannot be read: {error.strerror}", file=str(file)) from error


def _extract(file: Path) -> str:
    import anyio

    from pecia.adapters.extraction.extractor import open_extractor
    from pecia.adapters.extraction.model import ExtractedDocument

    async def extract() -> ExtractedDocument:
        async with open_extractor() as extractor:
            return await extractor.extract(file)

    found = anyio.run(extract)
    if found.text.strip():
        return found.text
    raise Unprocessable(
        f"{file} cannot be compiled: {found.reason}",
        file=str(file),
        expected="Markdown or text in UTF-8, or a PDF, office file, mail or web page with text",
        hint="save its text as a file: pecia ckf compile FILE.md",
    )


def _require_file(file: Path) -> None:
    if file.is_dir():
        raise InvalidInput(
            f"{file} is a folder",
            field="file",
            expected="a file",
            got="a folder",
            hint="pecia ckf --help",
        )


def _read(file: Path) -> str:
    _require_file(file)
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise Unprocessable(
            f"{file}: not UTF-8 text", section="document", line=1, hint="save it as UTF-8"
        ) from error
    except OSError as error:
        raise NotFound(f"{file} cannot be read: {error.strerror}", file=str(file)) from error


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise NotFound(f"{file} cannot be written: {error.strerror}", file=str(file)) from error


def _require_choice(field: str, value: str, allowed: Iterable[str]) -> None:
    known = list(allowed)
    if value not in known:
        message = f"--{field} must be one of {', '.join(known)}"
        raise CommandUsageError(InvalidEnum(message, field=field, allowed=[*known], got=value))
