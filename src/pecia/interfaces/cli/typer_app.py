"""The commands that Typer parses, as an application of the modules that are asked for."""

from collections.abc import Iterable
from importlib import import_module

import typer

from pecia.interfaces.cli.command_table import COMMANDS, GROUPS

SHARED_GROUPS = ("source", "space", "secret", "group", "memory")
"""Groups of shortcuts to tools, to which some modules add a command of their own."""

HELP_FLAGS = {"help_option_names": ["-h", "--help"]}


def build_app(modules: Iterable[str]) -> typer.Typer:
    """An application with the commands of these modules. Nothing else is imported.

    Help is plain text: it costs half of what drawn boxes cost, and can be piped.
    """
    app = _make_group()
    app.callback()(_no_options)
    groups = {name: _make_group(GROUPS[name]) for name in SHARED_GROUPS}
    used: set[str] = set()
    for module in dict.fromkeys(modules):
        group = _shared_group(module)
        import_module(module).add_to(groups[group] if group else app)
        used |= {group} if group else set()
    for name in sorted(used):
        app.add_typer(groups[name], name=name)
    return app


def _shared_group(module: str) -> str | None:
    first = next(it.words.partition(" ")[0] for it in COMMANDS if it.module == module)
    return first if first in SHARED_GROUPS else None


def _make_group(about: str | None = None) -> typer.Typer:
    return typer.Typer(
        name="pecia" if about is None else None,
        help=about,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings=HELP_FLAGS,
    )


def _no_options() -> None:
    """Options of every command are taken out before: `split_global_options`."""
