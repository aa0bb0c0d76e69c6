"""Commands that call one tool under a shorter name. Only data."""

from pecia.interfaces.cli.command_table import ToolShortcut

SHORTCUTS: tuple[ToolShortcut, ...] = (
    ToolShortcut(
        "token list",
        "admin.list_tokens",
        "Tokens: yours, or everybody's for an administrator.",
        columns=("id", "user", "label", "hint", "scopes", "expires_at", "last_used_at"),
    ),
    ToolShortcut(
        "token revoke",
        "admin.revoke_token",
        "Revoke a token at once, for good.",
        ("id",),
        removes="Revoke the token {id}? Programs that use it are refused from then on.",
    ),
    ToolShortcut("user add", "admin.add_user", "Add a user.", ("name",)),
    ToolShortcut("user list", "admin.list_users", "List the users."),
    ToolShortcut(
        "user set", "admin.set_user", "Change a user's role, status or other names.", ("name",)
    ),
    ToolShortcut("group add", "admin.add_group", "Add a group.", ("name",)),
    ToolShortcut("group list", "admin.list_groups", "List the groups and who is in them."),
    ToolShortcut(
        "group remove",
        "admin.remove_group",
        "Remove a group.",
        ("name",),
        removes="Remove the group {name}? Its members lose what was granted to it.",
    ),
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
    ToolShortcut(
        "source remove",
        "admin.remove_source",
        "Remove a source.",
        ("source_id",),
        removes="Remove the source {source_id}, with what was read of it and who may see it?",
    ),
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
    ToolShortcut(
        "space remote",
        "admin.set_space_remote",
        "Sync a space with a git repository: --mode pull or pull_and_push.",
        ("name", "url"),
    ),
    ToolShortcut(
        "space sync", "admin.sync_space", "Queue a sync of a space with its remote.", ("name",)
    ),
    ToolShortcut(
        "space status",
        "admin.space_remote_status",
        "The remote of a space, and how it fares.",
        ("name",),
    ),
    ToolShortcut(
        "space conflicts",
        "wiki.list_conflicts",
        "Files that contradict the remote's.",
        ("space",),
        columns=("path", "kind", "author", "subject", "since"),
    ),
    ToolShortcut(
        "space disconnect",
        "admin.remove_space_remote",
        "Stop syncing a space with its remote.",
        ("name",),
        removes="Stop syncing the space {name}? Its files stay; open conflicts are forgotten.",
    ),
    ToolShortcut(
        "space remove",
        "admin.remove_space",
        "Stop serving a folder.",
        ("name",),
        removes="Stop serving the space {name}? Its files stay.",
    ),
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
    ToolShortcut(
        "hub remove",
        "hub.remove_server",
        "Remove a server.",
        ("server",),
        removes="Remove the server {server}, with the approvals of its tools?",
    ),
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
    ToolShortcut(
        "secret remove",
        "admin.remove_secret",
        "Remove a secret.",
        ("name",),
        removes="Remove the secret {name}? It cannot be read back.",
    ),
    ToolShortcut(
        "memory list",
        "memory.memory_list",
        "Your memories that hold now; --include superseded for all.",
        columns=("id", "text", "said_at", "times_said"),
    ),
    ToolShortcut(
        "memory search", "memory.cipher_memory_search", "Search your memories.", ("query",)
    ),
    ToolShortcut(
        "memory history",
        "memory.memory_history",
        "Every version and wording of what a memory says.",
        ("id",),
    ),
    ToolShortcut(
        "memory page",
        "memory.memory_page",
        "One page of what is remembered now; --person NAME for what names somebody.",
    ),
    ToolShortcut(
        "memory forget",
        "memory.memory_delete",
        "Delete a memory for good, with its earlier versions and other wordings.",
        ("ids",),
        removes="Delete {ids} for good, with earlier versions and other wordings?",
    ),
    ToolShortcut(
        "memory undo", "memory.memory_undo", "Take back what was done without you.", ("id",)
    ),
    ToolShortcut(
        "audit",
        "admin.list_audit",
        "The audit log: who called what, when, with which outcome.",
        columns=("at", "user", "tool", "interface", "status", "code", "duration_us"),
    ),
    ToolShortcut(
        "mcp audit",
        "admin.list_audit",
        "The audit log: calls, arguments and outcomes; --tool NAME for one tool.",
        # The columns of the reference of this command.
        columns=(
            *("at", "user", "tool", "arguments", "sources", "keys", "row_count", "status"),
            "client_ip",
        ),
    ),
)
