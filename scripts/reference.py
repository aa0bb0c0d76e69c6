"""Writes the reference tables from the code: `python -m scripts.reference`. A test finds drift."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from pecia.app.connectors import CONNECTORS
from pecia.app.features import build_features
from pecia.app.settings import SETTINGS
from pecia.kernel.errors import iter_errors
from pecia.kernel.feature import Feature
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.settings.load import load_settings
from pecia.kernel.settings.table import render_settings_table
from pecia.kernel.tool.model import AnyTool
from pecia.kernel.tool.on_demand import FILE, Recording, record
from pecia.kernel.tool.validate import input_schema
from pecia.kernel.tool.view import full_name

FEATURES = Path(__file__).parent.parent / "src" / "pecia" / "features"
FOLDER = Path(__file__).parent.parent / "docs" / "reference"

NOTICE = "<!-- Written by `make docs` from the code. Change the code, not this page. -->\n"


def pages() -> dict[str, str]:
    """Every generated page, by file name."""
    return {
        "tools.md": f"{NOTICE}# Tools\n\n" + "\n".join(_features()),
        "settings.md": f"{NOTICE}# Settings\n\n"
        + render_settings_table((KernelSettings, *SETTINGS)),
        "connectors.md": f"{NOTICE}# Connectors\n\n" + "\n".join(_connectors()),
        "errors.md": f"{NOTICE}# Errors\n\n" + "\n".join(_errors()),
    }


def records() -> dict[Path, str]:
    """What servers know of tools before they import them, by file."""
    with record() as found:
        described_features()
    by_file: dict[Path, Recording] = {}
    for build, rows in found.items():
        feature = build.split(".")[2] if isinstance(rows, list) else rows["name"]
        by_file.setdefault(FEATURES / feature / FILE, {})[build] = rows
    return {path: json.dumps(it, indent=1) + "\n" for path, it in by_file.items()}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in records().items():
        path.write_text(text, encoding="utf-8")
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def _features() -> Iterator[str]:
    yield (
        "Served by every interface: MCP, `POST /api/v1/{feature}/{tool}`, `pecia call`. "
        "Bold: required.\n"
    )
    for feature in sorted(described_features(), key=lambda it: it.name):
        yield f"## {feature.name}\n"
        yield "| tool | scope | changes something | arguments | what it does |"
        yield "|---|---|---|---|---|"
        for tool in sorted(feature.tools, key=full_name):
            yield _tool_line(tool)
        yield ""


def described_features() -> tuple[Feature, ...]:
    """The features without a store: to be described, never called."""
    settings = load_settings(SETTINGS, flags={}, environ={}, project_file=None, user_file=None)
    nothing = cast(Any, None)
    return build_features(settings, nothing, nothing, nothing)


def _tool_line(tool: AnyTool) -> str:
    schema = input_schema(tool)
    required = schema.get("required", [])
    names = [f"**{it}**" if it in required else it for it in schema.get("properties", {})]
    changes = "no" if tool.read_only else "yes"
    cells = [f"`{full_name(tool)}`", f"`{tool.scope.value}`", changes, ", ".join(names) or "–"]
    return f"| {' | '.join(cells)} | {tool.description} |"


def _connectors() -> Iterator[str]:
    yield (
        "The kinds of sources that `pecia source add` takes, each argument as a flag. "
        "`pecia source credential` stores the credential.\n"
    )
    yield "| kind | its files | arguments | credential |"
    yield "|---|---|---|---|"
    for kind in CONNECTORS.addable:
        options = kind.options.model_fields if kind.options else {}
        named = [f"`{it}`" for it in options] or [f"`protocol` = `{kind.name}`"]
        shape = f"`{kind.credential.shape}`" if kind.credential else "–"
        yield f"| `{kind.name}` | {kind.summary} | {', '.join(named)} | {shape} |"
    yield ""


def _errors() -> Iterator[str]:
    yield "Read `code`, not the number or the prose. Retryable: send it again as it was.\n"
    yield "| code | JSON-RPC | 2026-07-28 | HTTP | retryable | when |"
    yield "|---|---|---|---|---|---|"
    for error in iter_errors():
        code = error.code
        numbers = f"{code.number(modern=False)} | {code.number(modern=True)} | {code.http}"
        retry = "yes" if code.retryable else "no"
        yield f"| `{code.name}` | {numbers} | {retry} | {' '.join((error.__doc__ or '').split())} |"
    yield ""


if __name__ == "__main__":
    main()
