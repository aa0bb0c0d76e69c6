"""Programs whose short flags carry a password: `-p` is one here and a port elsewhere. Pure."""

import re
from collections.abc import Mapping
from functools import cache

FAMILIES: Mapping[str, str] = {"mysql": "p", "mariadb": "p", "mongo": "p", "ldap": "w"}
"""The flags of all programs whose names begin so: `mysqldump`, `mariadb-admin`, `mongosh`."""

_REGISTRIES = ("docker login", "podman login", "helm registry login", "oc login", "az login")

PROGRAMS: Mapping[str, str] = {
    **dict.fromkeys((*_REGISTRIES, "sshpass", "rabbitmqadmin", "mycli", "cqlsh", "psexec"), "p"),
    **dict.fromkeys(("7z", "7za", "7zz", "rar", "unrar"), "p"),
    **dict.fromkeys(("zip", "unzip", "sqlcmd", "bcp", "mssql-cli", "ipmitool"), "P"),
    **dict.fromkeys(("smbclient", "rpcclient"), "U"),
    "redis-cli": "a",
    "curl": "uU",
}
"""The flags of each. Of `user:password` and `user%password` only the password is hidden."""

PROGRAM_NAMES = (*FAMILIES, *dict.fromkeys(it.rpartition(" ")[2] for it in PROGRAMS))
"""Without one of these there is no such program in a text."""

NO_PASSWORDS = frozenset(
    (
        *(
            "bash",
            "cargo",
            "cp",
            "docker",
            "gdb",
            "git",
            "install",
            "kill",
            "kubectl",
            "lsof",
            "ls",
        ),
        *("mkdir", "mount", "mosh", "netstat", "nmap", "patch", "perf", "pg_dump", "pg_restore"),
        *("podman", "ps", "psql", "pytest", "python", "python3", "read", "redis-cli", "rmdir"),
        *(
            "rsync",
            "scp",
            "sed",
            "sftp",
            "sh",
            "ss",
            "ssh",
            "strace",
            "tar",
            "tmux",
            "top",
            "touch",
        ),
        *("pgrep", "pidstat", "hatch", "make", "date", "declare", "export", "time", "type", "test"),
    )
)
"""Programs whose `-p` is a port, a process, a path or a yes."""

COMMAND = 300
"""How far before a flag its program is looked for."""

_PORT = re.compile(r"(?:[\d.]+:)?\d{1,5}(?:[-:]\d{1,5})*(?:/(?:tcp|udp))?")
_NUMBERS = re.compile(r"\d+:\d+")
_ANY_FLAG = re.compile(
    r"(?<![\w-])(?:(-u|--user|--userpwd)(?:\s+|=)|(-p)\s+)(\"[^\"]*\"?|'[^']*'?|[^\s\"']+)"
)

_VERSION = re.compile(r"(?:(?<=[a-z])[-\d.]*\d)?(?:\.exe)?\Z")
_USER = re.compile(r"([^:%\s]*[:%])(.+)", re.DOTALL)


def redact_commands(line: str, hidden: str) -> str:
    """A line without the values of secret flags. Behind a program the flags of all before it count
    too: `sudo sshpass -p… mysql -p…`, and a database may be called `zip`."""
    kept: list[str] = []
    done = 0
    letters = ""
    for found in (*_names().finditer(line), None):
        end = found.end() if found else len(line)
        kept.append(_redact_flags(letters, line[done:end], hidden))
        letters = merge_flags(letters, _flags_of(found[0]) if found else "")
        done = end
    return "".join(kept)


def _redact_flags(letters: str, text: str, hidden: str) -> str:
    def redact_match(found: re.Match[str]) -> str:
        flag, value = (found[2], found[3]) if found[2] else (found[4], found[5])
        return f"{found[1]}{flag}{redact_flag_value(flag.rstrip(' =')[-1], value, hidden)}"

    return _flags(letters).sub(redact_match, text) if letters else text


def merge_flags(letters: str, more: str) -> str:
    """Each letter once and in order: patterns are compiled once per result."""
    return "".join(sorted({*letters, *more}))


def redact_flag_value(flag: str, value: str, hidden: str) -> str:
    """The value of a short flag, hidden; the user's name before it stays."""
    if flag not in "uU":
        return hidden
    # Numbers are ids of a user and a group, and what goes on with slashes is an address.
    if _NUMBERS.fullmatch(value) or "://" in value[:40]:
        return value
    named = _USER.fullmatch(value)
    return f"{named[1]}{hidden}" if named else value


def redact_any_command(line: str, hidden: str) -> str:
    """A line without what short flags of any program carry: `-u user:password`, and behind `-p`
    what is neither a word nor a port, unless the program is known for another use of it."""

    def redact_match(found: re.Match[str]) -> str:
        value = found[3].strip("\"'")
        if found[1]:
            redacted = redact_flag_value("u", value, hidden)
        elif _is_mixed(value) and not has_other_use(
            line[max(0, found.start() - COMMAND) : found.start()].split()
        ):
            redacted = hidden
        else:
            return found[0]
        return found[0] if redacted == value else found[0].replace(value, redacted)

    return _ANY_FLAG.sub(redact_match, line)


def is_port(value: str) -> bool:
    return bool(_PORT.fullmatch(value))


def has_other_use(words: list[str]) -> bool:
    """Whether one of these words is a program whose `-p` is no password."""
    return any(base_name(it) in NO_PASSWORDS for it in words)


def base_name(program: str) -> str:
    return program.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")


def _is_mixed(value: str) -> bool:
    """Letters and digits together, and neither a path, a version nor a port."""
    has_both = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return has_both and len(value) >= 6 and not is_port(value) and not {"/", "."} & {*value}


def find_secret_flags(words: list[str]) -> str:
    """The secret flags of the program that these words begin with."""
    if not words:
        return ""
    name = base_name(words[0])
    for count in (1, 2, 3):
        if flags := _flags_of(" ".join((name, *words[1:count]))):
            return flags
    return ""


def split_glued_flag(word: str, letters: str) -> tuple[str, str] | None:
    """A short flag and the value that it carries itself, as `-psecret` does."""
    found = _glued_pattern(letters).fullmatch(word) if letters else None
    return (found[1], found[2]) if found else None


def _flags_of(program: str) -> str:
    name = _VERSION.sub("", " ".join(program.lower().split()))
    family = next((it for it in FAMILIES if name.startswith(it) and " " not in name), "")
    return FAMILIES[family] if family else PROGRAMS.get(name, "")


@cache
def _names() -> re.Pattern[str]:
    families = "|".join(FAMILIES)
    programs = "|".join(re.escape(it).replace(r"\ ", r"\s+") for it in PROGRAMS)
    return re.compile(
        rf"(?i)(?<![\w-])(?:(?:{families})[a-z_-]*|(?:{programs}))(?:[-\d.]*\d)?(?:\.exe)?(?=[\"']?\s)"
    )


@cache
def _flags(letters: str) -> re.Pattern[str]:
    """A flag, its value glued to it or behind it; the flag itself may stand in quotes."""
    flag = _flag(letters)
    return re.compile(
        rf"(\s(?=[\"']?-))(?:([\"']{flag}=?)([^\"']+)|"
        rf"({flag}\s*=?)(\"[^\"]*\"?|'[^']*'?|[^\s\"']+))"
    )


@cache
def _glued_pattern(letters: str) -> re.Pattern[str]:
    return re.compile(rf"({_flag(letters)})=?(.+)", re.DOTALL)


def _flag(letters: str) -> str:
    """Before the `-p` of mysql there may be flags without a value: `-vpsecret`."""
    bundle = "[vBsNAtfHXEnqrwCiL]{0,8}?" if "p" in letters else ""
    return rf"-{bundle}[{letters}]"
