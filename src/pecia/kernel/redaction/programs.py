"""Programs whose short flags carry a password: `-p` is one here and a port elsewhere. Pure."""

import re
from collections.abc import Mapping
from functools import cache

_DATABASES = ("mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump")
_MONGO = ("mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport")
_LDAP = ("ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldappasswd", "ldapwhoami")
_REGISTRIES = ("docker login", "podman login", "helm registry login", "oc login", "az login")

PROGRAMS: Mapping[str, str] = {
    **dict.fromkeys((*_DATABASES, *_MONGO, *_REGISTRIES, "sshpass", "rabbitmqadmin"), "p"),
    **dict.fromkeys(("7z", "7za", "7zz"), "p"),
    **dict.fromkeys(("zip", "unzip", "sqlcmd", "bcp"), "P"),
    **dict.fromkeys(_LDAP, "w"),
    "redis-cli": "a",
    "curl": "uU",
    "smbclient": "U",
}
"""The flags of each. Of `user:password` and `user%password` only the password is hidden."""

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

_USER = re.compile(r"([^:%\s]*[:%])(.+)", re.DOTALL)


def redact_command(program: str, rest: str, hidden: str) -> str:
    """What follows the program's name, without the values of its secret flags."""

    def kept(found: re.Match[str]) -> str:
        return f"{found[1]}{redact_flag_value(found[1].strip()[1:2], found[2], hidden)}"

    return _flags(PROGRAMS[program]).sub(kept, rest)


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

    def kept(found: re.Match[str]) -> str:
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

    return _ANY_FLAG.sub(kept, line)


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
        flags = PROGRAMS.get(" ".join((name, *words[1:count])))
        if flags:
            return flags
    return ""


@cache
def _flags(letters: str) -> re.Pattern[str]:
    return re.compile(rf"(\s-[{letters}]\s*=?)(\"[^\"]*\"?|'[^']*'?|[^\s\"']+)")
