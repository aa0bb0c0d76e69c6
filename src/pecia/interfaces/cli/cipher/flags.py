"""The flags of `pecia cipher`, validated: an error names the allowed values."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pecia.interfaces.cli.output.terminal import CommandUsageError
from pecia.interfaces.cli.settings import environ
from pecia.kernel.errors import InvalidEnum, InvalidFormat, InvalidInput, Json, NotFound

TRANSPORTS = ("stdio", "sse", "streamable-http")
DEFAULT_PORT = 3000
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")

# Cipher's other modes, and their replacements here.
MODE_HINTS = {
    "cli": "pecia call memory.ask_cipher --message …",
    "api": "pecia start, which serves the HTTP API at /api/v1",
    "ui": "pecia start, which serves the console at /",
}


@dataclass(frozen=True, slots=True)
class CipherFlags:
    """The validated flags."""

    transport: str
    host: str
    port: int
    timeout_ms: float | None
    strict: bool
    environ: Mapping[str, str]


def load_environment(env_file: Path | None) -> Mapping[str, str]:
    """The environment, with the variables of a file as defaults."""
    if env_file is None:
        return environ()
    try:
        text = env_file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"there is no file {env_file}", flag="--env-file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{env_file} cannot be read: {error}", field="--env-file") from None
    return {**parse_env_file(text), **environ()}


def parse_env_file(text: str) -> dict[str, str]:
    """`NAME=value` lines, as shells and Node read them. Nothing in a value is expanded."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.strip().removeprefix("export ").strip()
        if not entry or entry.startswith("#"):
            continue
        name, is_one, value = entry.partition("=")
        if not is_one or not name.strip().isidentifier():
            raise InvalidFormat(f"--env-file, line {number}: not NAME=value", field="--env-file")
        value = value.strip()
        if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]:
            value = value[1:-1]
        found[name.strip()] = value
    return found


def require_mode(mode: str) -> None:
    """Only `mcp` exists here."""
    if mode != "mcp":
        instead = MODE_HINTS.get(mode)
        error = InvalidEnum(
            f"--mode takes mcp; got {mode!r}", field="--mode", allowed=["mcp"], got=mode
        )
        raise CommandUsageError(error, instead)


def require_choice(flag: str, value: str, allowed: tuple[str, ...]) -> None:
    """The value, if it is allowed for the flag."""
    if value not in allowed:
        choices: list[Json] = [*allowed]
        raise CommandUsageError(
            InvalidEnum(
                f"{flag} takes {', '.join(allowed)}; got {value!r}",
                field=flag,
                allowed=choices,
                got=value,
            )
        )


def parse_port(flag: int | None, around: Mapping[str, str]) -> int:
    """The port of the flag, else of the variable, else the default."""
    value = around.get("MCP_PORT", DEFAULT_PORT) if flag is None else flag
    name = "MCP_PORT" if flag is None else "--mcp-port"
    try:
        port = int(value)
    except ValueError:
        port = -1
    if not 0 <= port <= 65_535:
        raise CommandUsageError(
            InvalidFormat(
                f"{name} must be a port from 0 to 65535; got {value!r}",
                field=name,
                expected="0 to 65535",
                got=str(value),
            )
        )
    return port


def parse_timeout_ms(value: str | None) -> float | None:
    """The value of `--timeout`, if set."""
    if value is None:
        return None
    if not value.isdecimal() or int(value) == 0:
        raise CommandUsageError(
            InvalidFormat(
                f"--timeout must be a number of milliseconds above 0; got {value!r}",
                field="--timeout",
                expected="a number of milliseconds",
                got=value,
            )
        )
    return float(value)
