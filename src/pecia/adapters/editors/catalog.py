"""The editors that Pecia knows, and where each of them keeps its list of MCP servers.

Only data: a machine is described, nothing on it is read or written.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from pecia.adapters.editors import jsonc, toml
from pecia.kernel.errors import Json

System: TypeAlias = Literal["linux", "darwin"]


@dataclass(frozen=True, slots=True)
class Machine:
    """Whose editors are looked for: the home of a user, the system, and the user's environment."""

    home: Path
    system: System
    env: Mapping[str, str]

    @property
    def settings(self) -> Path:
        """Where programs with windows keep what a user set."""
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        return self.env_folder("XDG_CONFIG_HOME") or self.home / ".config"

    def env_folder(self, variable: str) -> Path | None:
        """The folder that a variable names, when it names one that is the same from everywhere."""
        value = self.env.get(variable, "")
        return Path(value) if value.startswith("/") else None


@dataclass(frozen=True, slots=True)
class ConfigFormat:
    """How a kind of file is read, and changed without touching the rest of it."""

    read: Callable[[str], dict[str, Json]]
    put: Callable[[str, Sequence[str], Json], str]
    drop: Callable[[str, Sequence[str]], str]


@dataclass(frozen=True, slots=True)
class CodeEditor:
    """One editor: its file, under which key servers stand there, and what shows that it is here."""

    id: str
    title: str
    file: Path
    probe: Path
    key: str = "mcpServers"
    format: ConfigFormat = ConfigFormat(jsonc.read, jsonc.put, jsonc.drop)
    is_typed: bool = False
    """Whether an entry says by which transport it speaks."""


def known_editors(machine: Machine) -> tuple[CodeEditor, ...]:
    """All six, in the order in which they are shown."""
    home, settings = machine.home, machine.settings
    own_claude = machine.env_folder("CLAUDE_CONFIG_DIR")
    codex = machine.env_folder("CODEX_HOME") or home / ".codex"
    cursor, windsurf = home / ".cursor", home / ".codeium" / "windsurf"
    desktop, code = settings / "Claude", settings / "Code" / "User"
    as_toml = ConfigFormat(toml.read, toml.put, toml.drop)
    return (
        CodeEditor(
            "claude",
            "Claude Code",
            (own_claude or home) / ".claude.json",
            own_claude or home / ".claude",
        ),
        CodeEditor(
            "claude-desktop", "Claude Desktop", desktop / "claude_desktop_config.json", desktop
        ),
        CodeEditor("cursor", "Cursor", cursor / "mcp.json", cursor),
        CodeEditor("vscode", "VS Code", code / "mcp.json", code, key="servers", is_typed=True),
        CodeEditor("codex", "Codex", codex / "config.toml", codex, "mcp_servers", as_toml),
        CodeEditor("windsurf", "Windsurf", windsurf / "mcp_config.json", windsurf),
    )
