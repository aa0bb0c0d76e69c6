"""What a person is shown of a program's variables before it is started. Pure."""

import re
from collections.abc import Mapping

from pecia.kernel.redaction.names import is_plural_secret_name, is_secret_name
from pecia.kernel.redaction.text import redact
from pecia.kernel.redaction.url import redact_url

_CODE = re.compile(
    r"(?i)LD_.*|DYLD_.*|GLIBC_.*|GCONV.*"  # the loader
    r"|.*PATH|.*_?OPTIONS|.*OPTS?|.*FLAGS|.*_PRELOAD|.*_HOOKS?|.*_COMMAND|.*_ARGS"
    r"|PYTHON.*|PERL5.*|RUBY.*|LUA_.*|PHP.*|NODE_.*|JAVA_.*|_JAVA_.*|JDK_.*|DOTNET_.*|COR.*_PROFILER.*"
    r"|ELECTRON_.*|DENO_.*|BUN_.*|GEM_.*|BUNDLE_GEMFILE|NPM_.*|YARN_.*|PNPM_.*|PIP_.*|UV_.*|CARGO_.*|RUSTC.*"
    r"|BASH_.*|ENV|SHELL|IFS|PS[0-4]|ZDOTDIR|COMSPEC|EDITOR|VISUAL|PAGER|BROWSER|.*_EDITOR|.*_PAGER"
    r"|GIT_.*|SSH_.*|.*_ASKPASS|HOME|USERPROFILE|APPDATA|XDG_.*|TMP|TEMP|TMPDIR"
    r"|.*_PROXY|.*_INDEX_URL|.*_REGISTRY|SSL_.*|OPENSSL_.*|.*_CA_.*|.*_TLS_.*"
)
"""Variables that choose which code runs, where it comes from, or who answers for a host."""


def describe_environment(env: Mapping[str, str]) -> str:
    """Names, and the values of variables that can make a program run something else. Others may
    hold a secret whatever their name is."""
    return ", ".join(
        f"{name}={_without_secrets(env[name])}" if _shows(name) else name for name in sorted(env)
    )


def _shows(name: str) -> bool:
    is_secret = is_secret_name(name) or is_plural_secret_name(name)
    return not is_secret and _CODE.fullmatch(name) is not None


def _without_secrets(value: str) -> str:
    return redact_url(value) if re.match(r"\w+://\S+\Z", value) else redact(value)
