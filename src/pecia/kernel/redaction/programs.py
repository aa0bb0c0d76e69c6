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

_USER = re.compile(r"([^:%\s]*[:%])(.+)", re.DOTALL)


def redact_command(program: str, rest: str, hidden: str) -> str:
    """What follows the program's name, without the values of its secret flags."""

    def kept(found: re.Match[str]) -> str:
        return f"{found[1]}{redact_value_of(found[1].strip()[1:2], found[2], hidden)}"

    return _flags(PROGRAMS[program]).sub(kept, rest)


def redact_value_of(flag: str, value: str, hidden: str) -> str:
    """The value of a short flag, hidden; the user's name before it stays."""
    if flag not in "uU":
        return hidden
    named = _USER.fullmatch(value)
    return f"{named[1]}{hidden}" if named else value


def program_flags(words: list[str]) -> str:
    """The secret flags of the program that these words begin with."""
    if not words:
        return ""
    name = words[0].replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
    for count in (1, 2, 3):
        flags = PROGRAMS.get(" ".join((name, *words[1:count])))
        if flags:
            return flags
    return ""


@cache
def _flags(letters: str) -> re.Pattern[str]:
    return re.compile(rf"(\s-[{letters}]\s*=?)(\"[^\"]*\"?|'[^']*'?|[^\s\"']+)")
