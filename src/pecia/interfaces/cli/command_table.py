"""Every command by its words: one line of help, and the module that has it. Only data.

`--help` and completion are answered from here, so that they import no command.
"""

from collections.abc import Mapping
from dataclasses import dataclass

_COMMANDS = "pecia.interfaces.cli.commands"
_ADMIN = f"{_COMMANDS}.admin"
_SOURCE = f"{_COMMANDS}.source"
_SPACE = f"{_COMMANDS}.space"
_VERBS = f"{_COMMANDS}.verbs"
_CASCADE = f"{_COMMANDS}.cascade.cascade"


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """One command. Its module adds it, and those beside it, to a Typer application."""

    words: str
    module: str
    summary: str
    is_direct: bool = False
    """Whether it goes without Typer: for what is called often, and only asks the server."""


@dataclass(frozen=True, slots=True)
class ToolShortcut:
    """A command that calls one tool. Words without a flag fill `positional`; a terminal shows
    `columns`. Where it `removes` something, that question is asked first, unless --yes is said."""

    words: str
    tool: str
    summary: str
    positional: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    removes: str = ""


SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Start", ("start", "open", "status", "stop", "doctor", "config")),
    ("Find and read", ("search", "ask", "read", "recall")),
    ("Write and remember", ("remember", "memory", "edit")),
    ("Add knowledge", ("source", "space", "index")),
    ("Connect agents", ("init", "mcp", "hook", "cipher", "hub", "confirm", "smoke")),
    ("People and rights", ("token", "user", "group", "secret", "audit")),
    ("Any tool", ("call",)),
    ("Knowledge in files", ("ckf", "cascade", "okf", "eval")),
    (
        "Serve a team",
        ("serve", "worker", "tenant", "operator", "migrate", "backup", "restore", "export"),
    ),
    ("This program", ("help", "completion", "version")),
)
"""How the list of commands is ordered: by what somebody wants to do."""

GROUPS: Mapping[str, str] = {
    "cascade": "Layered knowledge, resolved when it is read.",
    "ckf": "Knowledge packages in files.",
    "eval": "Measure search and compiled packages.",
    "group": "Groups of users.",
    "hook": "What clients run when a session begins and ends.",
    "hub": "Upstream MCP servers, and their tools.",
    "index": "The keyword indexes of this home.",
    "memory": "Your memories: what was said, when, and what holds now.",
    "okf": "Check and index bundles in OKF.",
    "operator": "The operators of this cluster.",
    "operator token": "Tokens of cluster administrators.",
    "secret": "Encrypted credentials of sources and upstream servers.",
    "source": "Sources and who may see them.",
    "space": "Folders of the server's machine that are served as wikis.",
    "tenant": "The tenants of this cluster.",
    "token": "Personal access tokens of your tenant.",
    "user": "The users of your tenant.",
}

BUILT_IN: Mapping[str, str] = {
    "help": "The help of a command: pecia help source add.",
    "completion": "Print the completion script of a shell: bash, zsh or fish.",
    "version": "The version of this program.",
}
"""Commands of the entry point itself."""

COMMANDS: tuple[CommandEntry, ...] = (
    CommandEntry(
        "search",
        f"{_VERBS}.search",
        "Search everything that you may see: files, documents and memories.",
        is_direct=True,
    ),
    CommandEntry(
        "ask",
        f"{_VERBS}.ask",
        "Answer a question from everything that you may see, with citations.",
        is_direct=True,
    ),
    CommandEntry(
        "read", f"{_VERBS}.read", "Print the whole text of a file or document.", is_direct=True
    ),
    CommandEntry(
        "remember", f"{_VERBS}.memory", "Remember a fact for you and your agents.", is_direct=True
    ),
    CommandEntry("recall", f"{_VERBS}.memory", "Search what was remembered.", is_direct=True),
    CommandEntry(
        "edit",
        f"{_VERBS}.edit",
        "Open a wiki document in your editor, and save what you changed.",
        is_direct=True,
    ),
    CommandEntry(
        "start",
        f"{_COMMANDS}.start",
        "Serve a folder on this machine, or add it to the server that runs already.",
    ),
    CommandEntry(
        "open",
        f"{_COMMANDS}.confirm",
        "Sign a browser in to the console of this machine's server, by a link that works once.",
        is_direct=True,
    ),
    CommandEntry(
        "status",
        f"{_COMMANDS}.status",
        "Show whether a server runs for this home, and its state.",
        is_direct=True,
    ),
    CommandEntry("stop", f"{_COMMANDS}.stop", "Stop the server of this home.", is_direct=True),
    CommandEntry("doctor", f"{_COMMANDS}.doctor.doctor", "Check this install end to end."),
    CommandEntry(
        "config",
        f"{_COMMANDS}.config",
        "Show the effective settings, and the origin of each: flag, environment or file.",
    ),
    CommandEntry("init", f"{_COMMANDS}.init", "Add Pecia to your editors."),
    CommandEntry(
        "confirm",
        f"{_COMMANDS}.confirm",
        "Confirm what an agent requested: a program to run, a folder to read, tools to approve.",
        is_direct=True,
    ),
    CommandEntry(
        "hook recall",
        "pecia.interfaces.cli.hooks.hook",
        "Print what was remembered, for a session that begins.",
        is_direct=True,
    ),
    CommandEntry(
        "hook capture",
        "pecia.interfaces.cli.hooks.hook",
        "Remember what was said in a session and is meant to last.",
        is_direct=True,
    ),
    CommandEntry("call", f"{_COMMANDS}.call", "Call any tool: pecia call TOOL --name value …"),
    CommandEntry("serve", f"{_COMMANDS}.serve", "Serve tenants, with tokens, until stopped."),
    CommandEntry("worker", f"{_COMMANDS}.worker", "Run background jobs."),
    CommandEntry(
        "migrate",
        f"{_ADMIN}.migrate",
        "Apply the migrations that are missing, as the owner of the database.",
    ),
    CommandEntry("backup", f"{_ADMIN}.backup", "Back up the whole database, while it is in use."),
    CommandEntry(
        "restore",
        f"{_ADMIN}.backup",
        "Restore a backup into an empty database: a new PECIA_HOME, or an empty one of yours.",
    ),
    CommandEntry(
        "export",
        f"{_ADMIN}.backup",
        "Write one tenant's rows as JSON lines, without secrets and hashes.",
    ),
    CommandEntry(
        "smoke", f"{_COMMANDS}.mcp", "Try an MCP server: initialize, tools/list, tools/call."
    ),
    CommandEntry(
        "cipher",
        "pecia.interfaces.cli.cipher.cipher",
        "Serve memory and other servers' tools to a client that was made for Cipher.",
    ),
    CommandEntry(
        "mcp", f"{_COMMANDS}.mcp", "Speak MCP on stdin and stdout, for an editor or an agent."
    ),
    CommandEntry(
        "mcp smoke", f"{_COMMANDS}.mcp", "Try an MCP server: initialize, tools/list, tools/call."
    ),
    CommandEntry(
        "ckf compile", f"{_COMMANDS}.ckf", "Compile a file into a package, without any model."
    ),
    CommandEntry("ckf validate", f"{_COMMANDS}.ckf", "Check packages."),
    CommandEntry("ckf diff", f"{_COMMANDS}.ckf", "Compare two packages, item by item."),
    CommandEntry(
        "ckf slice",
        f"{_COMMANDS}.ckf",
        "Print the part of a package that a question needs, within a budget of tokens.",
    ),
    CommandEntry("ckf verify", f"{_COMMANDS}.ckf", "Re-read every quotation in the source."),
    CommandEntry("ckf publish", f"{_COMMANDS}.ckf", "Publish a package as a post."),
    CommandEntry(
        "eval retrieval",
        f"{_COMMANDS}.evaluation.evaluate",
        "Measure search on a folder in the layout of BEIR, in a temporary install.",
    ),
    CommandEntry(
        "eval questions",
        f"{_COMMANDS}.evaluation.evaluate",
        "Run questions on a source through the tools that agents use; report which pages were "
        "found.",
    ),
    CommandEntry(
        "eval ckf",
        f"{_COMMANDS}.evaluation.evaluate",
        "Measure compiled packages on labelled passages: precision, recall, calibration per kind.",
    ),
    CommandEntry(
        "index status",
        f"{_ADMIN}.index",
        "Show the position, content and disk size of each index.",
    ),
    CommandEntry("index rebuild", f"{_ADMIN}.index", "Rebuild indexes from the database."),
    CommandEntry(
        "index verify",
        f"{_ADMIN}.index",
        "Compare indexes with their checksums and with the database.",
    ),
    CommandEntry("index repair", f"{_ADMIN}.index", "The same, and repair what differs."),
    CommandEntry(
        "tenant add",
        f"{_ADMIN}.operator",
        "Make a tenant, its first administrator and a token for them, which is shown only once.",
    ),
    CommandEntry("tenant list", f"{_ADMIN}.operator", "List the tenants."),
    CommandEntry("tenant suspend", f"{_ADMIN}.operator", "Suspend a tenant: nobody can sign in."),
    CommandEntry("tenant resume", f"{_ADMIN}.operator", "Resume a suspended tenant."),
    CommandEntry("tenant quota", f"{_ADMIN}.operator", "Show or change the quotas of a tenant."),
    CommandEntry(
        "tenant allow",
        f"{_ADMIN}.operator",
        "Show or change what a tenant may use of this machine and its network.",
    ),
    CommandEntry(
        "tenant delete",
        f"{_ADMIN}.operator",
        "Delete a tenant and everything of it, for good.",
    ),
    CommandEntry(
        "operator audit",
        f"{_ADMIN}.operator",
        "The audit log of no tenant: requests without a valid token, and what operators did.",
    ),
    CommandEntry(
        "operator token make", f"{_ADMIN}.operator", "Make a token of a cluster administrator."
    ),
    CommandEntry(
        "operator token list",
        f"{_ADMIN}.operator",
        "List the tokens of cluster administrators.",
    ),
    CommandEntry(
        "operator token revoke",
        f"{_ADMIN}.operator",
        "Revoke a token of a cluster administrator at once, for good.",
    ),
    CommandEntry(
        "cascade list", _CASCADE, "Every effective concept, with its type, title and layers."
    ),
    CommandEntry(
        "cascade show",
        _CASCADE,
        "One concept, resolved: Markdown with dissent in quotes, or with --json every detail.",
    ),
    CommandEntry("cascade search", _CASCADE, "Lexical search for concepts, in every layer."),
    CommandEntry("cascade links", _CASCADE, "The links of a concept, and its backlinks."),
    CommandEntry(
        "cascade diff",
        _CASCADE,
        "What the effective view gains, loses and changes when a layer is added, or moved.",
    ),
    CommandEntry(
        "cascade conflicts",
        _CASCADE,
        "Every contradiction between layers, the oldest first, with who could settle it.",
    ),
    CommandEntry(
        "cascade stale",
        _CASCADE,
        "Concepts that should not be relied on any more, or changed since they were verified.",
    ),
    CommandEntry(
        "cascade problems",
        _CASCADE,
        "Files without a concept, and incomplete layers, each with the reason.",
    ),
    CommandEntry(
        "cascade trust", _CASCADE, "Let a manifest start the programs it names, as it is now."
    ),
    CommandEntry(
        "cascade serve",
        _CASCADE,
        "Speak MCP on stdin and stdout, with exactly the four tools of the cascade.",
    ),
    CommandEntry(
        "okf validate",
        f"{_COMMANDS}.okf",
        "Check a bundle against the specification: only what it forbids.",
    ),
    CommandEntry(
        "okf lint", f"{_COMMANDS}.okf", "Check a bundle and advise: errors, warnings and notes."
    ),
    CommandEntry(
        "okf index",
        f"{_COMMANDS}.okf",
        "Make the index.md of every folder from the concepts in it.",
    ),
    CommandEntry("memory import", f"{_COMMANDS}.memory", "Import memories of another product."),
    CommandEntry(
        "memory export",
        f"{_COMMANDS}.memory",
        "Export your memories, also what no longer holds, to a file that `import` reads.",
    ),
    CommandEntry(
        "token make",
        f"{_COMMANDS}.token",
        "Make a token; it is shown only once.",
        is_direct=True,
    ),
    CommandEntry("group import", f"{_ADMIN}.group_import", "Set groups from a directory export."),
    CommandEntry(
        "source crawl",
        f"{_SOURCE}.crawl",
        "Crawl a source now: find what is new, changed or gone.",
    ),
    CommandEntry(
        "source credential",
        f"{_SOURCE}.credential",
        "Store the credential of a source, from stdin or --from-env.",
    ),
    CommandEntry("source upload", f"{_SOURCE}.upload", "Send files to a source of uploads."),
    CommandEntry(
        "space export",
        f"{_SPACE}.export",
        "Export what you may read of a space to a folder: Markdown, OKF or HTML.",
    ),
    CommandEntry(
        "space import",
        f"{_SPACE}.import_notes",
        "Import notes of another program into a space.",
    ),
    CommandEntry("secret set", f"{_ADMIN}.secrets", "Store a credential."),
    CommandEntry(
        "secret rotate",
        f"{_ADMIN}.secrets",
        "Make a new key and encrypt every secret with it.",
    ),
)
