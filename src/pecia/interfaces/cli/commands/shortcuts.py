"""Commands that call one tool under a shorter name: a table, and the Typer groups made from it."""

from collections.abc import Mapping
from dataclasses import dataclass

import typer

from pecia.interfaces.cli.commands.call import RAW_ARGUMENTS
from pecia.interfaces.cli.output.terminal import terminal_of
from pecia.interfaces.cli.tools.run import ToolCommand, run_tool

GROUPS: Mapping[str, str] = {
    "token": "Personal access tokens of your tenant.",
    "user": "The users of your tenant.",
    "group": "Groups of users.",
    "source": "Sources and who may see them.",
    "space": "Folders of the server's machine that are served as wikis.",
    "secret": "Encrypted credentials of sources and upstream servers.",
    "hub": "Upstream MCP servers, and their tools.",
}


@dataclass(frozen=True, slots=True)
class ToolShortcut:
    """One command. Words without a flag fill `positional`; a terminal shows `columns`."""

    words: str
    tool: str
    help: str
    positional: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


SHORTCUTS: tuple[ToolShortcut, ...] = (
    ToolShortcut(
        "token make", "admin.make_token", "Make a token; it is shown only once.", ("label",)
    ),
    ToolShortcut(
        "token list",
        "admin.list_tokens",
        "Tokens: yours, or everybody's for an administrator.",
        columns=("id", "user", "label", "hint", "scopes", "expires_at", "last_used_at"),
    ),
    ToolShortcut(
        "token revoke", "admin.revoke_token", "Revoke a token at once, for good.", ("id",)
    ),
    ToolShortcut("user add", "admin.add_user", "Add a user.", ("name",)),
    ToolShortcut("user list", "admin.list_users", "List the users."),
    ToolShortcut(
        "user set", "admin.set_user", "Change a user's role, status or other names.", ("name",)
    ),
    ToolShortcut("group add", "admin.add_group", "Add a group.", ("name",)),
    ToolShortcut("group list", "admin.list_groups", "List the groups and who is in them."),
    ToolShortcut("group remove", "admin.remove_group", "Remove a group.", ("name",)),
    ToolShortcut("group join", "admin.add_member", "Put a user into a group.", ("group", "user")),
    ToolShortcut(
        "group leave", "admin.remove_member", "Take a user out of a group.", ("group", "user")
    ),
    ToolShortcut(
        "source add",
        "admin.add_source",
        "Register a source; --help lists the kinds.",
        ("source_id",),
    ),
    ToolShortcut("source list", "lake.list_sources", "List the sources that you may see."),
    ToolShortcut(
        "source set", "admin.set_source", "Change or switch off a source.", ("source_id",)
    ),
    ToolShortcut("source stop", "admin.stop_crawl", "Stop the crawl of a source.", ("source_id",)),
    ToolShortcut(
        "source status", "admin.crawl_status", "The progress of its crawl.", ("source_id",)
    ),
    ToolShortcut("source stats", "admin.source_stats", "The status of its files.", ("source_id",)),
    ToolShortcut("source unread", "admin.list_unread", "Files not read, and why.", ("source_id",)),
    ToolShortcut("source remove", "admin.remove_source", "Remove a source.", ("source_id",)),
    ToolShortcut(
        "source grant",
        "admin.grant",
        "Give somebody a role in a source; the role null takes it away.",
        ("source_id", "to", "role"),
    ),
    ToolShortcut("space add", "admin.add_space", "Serve a folder as a wiki.", ("folder",)),
    ToolShortcut("space list", "admin.list_spaces", "List the folders that are served."),
    ToolShortcut("space rename", "admin.rename_space", "Rename a space.", ("name", "new_name")),
    ToolShortcut(
        "space set", "admin.set_space", "Switch a space off or on, or trim it.", ("name",)
    ),
    ToolShortcut("space remove", "admin.remove_space", "Stop serving a folder.", ("name",)),
    ToolShortcut(
        "hub list",
        "hub.list_servers",
        "The servers that you may use, and their status.",
        columns=("server", "state", "reason", "tools", "waiting", "software"),
    ),
    ToolShortcut(
        "hub add", "hub.add_server", "Connect a server: --url, or --command.", ("server",)
    ),
    ToolShortcut(
        "hub set",
        "hub.set_server",
        "Switch a server on or off, or set who may use it.",
        ("server",),
    ),
    ToolShortcut(
        "hub check", "hub.check_server", "Connect now, and record what changed.", ("server",)
    ),
    ToolShortcut("hub remove", "hub.remove_server", "Remove a server.", ("server",)),
    ToolShortcut(
        "hub tools",
        "hub.list_server_tools",
        "Tools of a server, or of all.",
        ("server",),
        columns=("server", "tool", "name", "state", "read_only", "description"),
    ),
    ToolShortcut("hub approve", "hub.approve_tools", "Approve new or changed tools.", ("server",)),
    ToolShortcut(
        "hub call", "hub.call_server_tool", "Call a tool of a server.", ("server", "tool")
    ),
    ToolShortcut("secret list", "admin.list_secrets", "List the names of the secrets."),
    ToolShortcut("secret remove", "admin.remove_secret", "Remove a secret.", ("name",)),
    ToolShortcut(
        "audit",
        "admin.list_audit",
        "The audit log: who called what, when, with which outcome.",
        columns=("at", "user", "tool", "door", "status", "code", "duration_us"),
    ),
)


def add_to(app: typer.Typer) -> Mapping[str, typer.Typer]:
    """Make every command of the table. Returns the groups, so that others may add to them."""
    groups = {name: typer.Typer(no_args_is_help=True, help=text) for name, text in GROUPS.items()}
    for name, group in groups.items():
        app.add_typer(group, name=name)
    for verb in SHORTCUTS:
        group, _, name = verb.words.rpartition(" ")
        home = groups[group] if group else app
        home.command(name, help=verb.help, context_settings=RAW_ARGUMENTS, add_help_option=False)(
            _make_command(verb)
        )
    return groups


def _make_command(verb: ToolShortcut):
    ask = ToolCommand(verb.tool, f"pecia {verb.words}", verb.positional, verb.columns)

    def run(ctx: typer.Context) -> None:
        run_tool(terminal_of(ctx), ask, ctx.args)

    return run
