"""An agent file, `cipher.yml`: the model and the upstream servers of a session."""

import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import orjson

from pecia.adapters.models.providers import PROVIDERS
from pecia.features.hub.configured_servers import SERVERS_KEY as SERVERS
from pecia.features.hub.configured_servers import ConfiguredServer, parse_servers
from pecia.features.hub.core.tool_name import agent_server_name
from pecia.interfaces.cli.server.client import API, ServerClient
from pecia.interfaces.cli.tools.confirmation import call_as_owner
from pecia.kernel.errors import (
    Conflict,
    InvalidEnum,
    InvalidFormat,
    InvalidInput,
    Json,
    MissingField,
    NotFound,
    Unavailable,
)
from pecia.kernel.settings.account import expand_user
from pecia.kernel.text.yaml.reader import load_yaml
from pecia.kernel.text.yaml.writer import dump_yaml

USED_KEYS = frozenset((SERVERS, "llm"))
USED_MODEL_KEYS = frozenset(("provider", "model", "apiKey", "baseURL"))

# Programs that serve models on this machine, and where they usually listen.
LOCAL_PROVIDER_URLS = {
    "ollama": "http://localhost:11434/v1",
    "lmstudio": "http://localhost:1234/v1",
}

_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")


@dataclass(frozen=True, slots=True)
class AgentServer:
    """A server of the file. `name` is unique per definition, `alias` is the name in the file."""

    alias: str
    name: str
    arguments: Mapping[str, Json]
    is_required: bool


@dataclass(frozen=True, slots=True)
class AgentFile:
    """The content of the file. Without the key `mcpServers` a session sees those of the hub."""

    flags: Mapping[str, str]
    servers: tuple[AgentServer, ...] | None
    unused: tuple[str, ...]


def read_agent(path: Path, environ: Mapping[str, str]) -> AgentFile:
    """The agent file at that path, with variables substituted."""
    try:
        text = expand_user(path, "--agent").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", flag="--agent") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}", field="--agent") from None
    return parse_agent(text, environ)


def parse_agent(text: str, environ: Mapping[str, str]) -> AgentFile:
    """The same from its text. Pure."""
    found = load_yaml(text).value
    if not isinstance(found, dict):
        raise InvalidFormat(
            f"an agent file must be a mapping, not {type(found).__name__}",
            field="--agent",
            expected="object",
        )
    document = {
        key: _expand_variables(it, environ, key) for key, it in found.items() if key in USED_KEYS
    }
    llm = document.get("llm")
    if llm is not None and not isinstance(llm, dict):
        raise InvalidFormat(
            f"llm must be a mapping, not {str(llm)[:100]!r}", field="llm", expected="object"
        )
    model = llm or {}
    unused = [
        *(key for key in found if key not in USED_KEYS),
        *(f"llm.{key}" for key in model if key not in USED_MODEL_KEYS),
    ]
    own = _parse_servers(document[SERVERS]) if document.get(SERVERS) is not None else None
    return AgentFile(_model_flags(model, environ) if model else {}, own, tuple(unused))


def connect_servers(
    server: ServerClient, own: Sequence[AgentServer], holder: str, *, strict: bool
) -> Iterator[str]:
    """Register these servers in the hub; yields warnings. A strict server must be up."""
    failed: list[str] = []
    for it in own:
        condition = _add_server(server, it, holder)
        if condition.get("state") != "up":
            failed += [it.alias] if strict or it.is_required else []
            yield f"the server {it.alias} is {condition.get('state')}: {condition.get('reason')}"
    if failed:
        raise Unavailable(f"Failed to connect to required strict servers: {', '.join(failed)}")


def _add_server(server: ServerClient, it: AgentServer, holder: str) -> Mapping[str, Json]:
    try:
        found = call_as_owner(server, f"{API}/hub/add_server", {**it.arguments, "holder": holder})
    except Conflict:
        # Registered before with the same definition: the name contains its hash.
        held = server.call(f"{API}/hub/hold_servers", {"servers": [it.name], "holder": holder})
        if cast(dict[str, Json], held)["missing"]:
            return _add_server(server, it, holder)
        found = server.call(f"{API}/hub/check_server", {"server": it.name})
    return cast(dict[str, Json], found)


def _parse_servers(document: Json) -> tuple[AgentServer, ...]:
    entries = cast(dict[str, Json], document) if isinstance(document, dict) else {}
    strict = {
        name
        for name, it in entries.items()
        if isinstance(it, dict) and it.pop("connectionMode", "lenient") == "strict"
    }
    listed = parse_servers(dump_yaml({SERVERS: document}), is_own_machine=True)
    return tuple(_to_agent_server(it, is_required=it.name in strict) for it in listed if it.enabled)


def _to_agent_server(listed: ConfiguredServer, *, is_required: bool) -> AgentServer:
    place, options = listed.endpoint, listed.options
    words = shlex.join(place.argv)
    ask: dict[str, Json] = {
        **({"command": words} if words else {"url": place.url}),
        **({"env": {**place.env}} if place.env else {}),
        **({"headers": {**place.headers}} if place.headers else {}),
        **({"cwd": place.folder} if place.folder else {}),
        "type": place.address.transport,
        "timeout_s": options.timeout_s,
        "reset_timeout_on_progress": options.resets_on_progress,
        "max_total_timeout_s": options.most_s,
        "take_changes": options.takes_changes,
        "enforce_strict_capabilities": options.strict_capabilities,
    }
    name = agent_server_name(listed.name, _definition_hash(listed.name, ask))
    return AgentServer(listed.name, name, {**ask, "server": name}, is_required)


def _definition_hash(alias: str, ask: Mapping[str, Json]) -> str:
    """A hash of the definition. It may contain a password, and names are public: hence scrypt, slow
    to guess."""
    definition = orjson.dumps(ask, option=orjson.OPT_SORT_KEYS)
    return hashlib.scrypt(definition, salt=alias.encode(), n=2**14, r=8, p=1, dklen=4).hex()


def _model_flags(llm: Mapping[str, Json], environ: Mapping[str, str]) -> dict[str, str]:
    """The model as our settings."""
    provider = str(llm.get("provider") or "openai").lower()
    model, key = str(llm.get("model") or ""), str(llm.get("apiKey") or "")
    key = key or environ.get(f"{provider.upper()}_API_KEY", "")
    url = str(llm.get("baseURL") or LOCAL_PROVIDER_URLS.get(provider, ""))
    if url:
        return openai_compatible_flags(url, key, model or default_model(provider))
    if provider not in PROVIDERS:
        known: list[Json] = [*PROVIDERS, *LOCAL_PROVIDER_URLS]
        raise InvalidEnum(
            f"llm.provider: {provider!r} is not one of {', '.join(map(str, known))}, "
            "and without llm.baseURL it cannot be reached",
            field="llm.provider",
            allowed=known,
            got=provider,
        )
    flags = {"ckf.operator_provider": provider, "ckf.operator_model": model}
    return {**flags, f"ckf.{provider}_key": key} if key else flags


def openai_compatible_flags(url: str, key: str, model: str) -> dict[str, str]:
    """A server with OpenAI's API, as our settings."""
    flags = {"ckf.operator_url": url, "ckf.operator_model": model}
    return {**flags, "ckf.operator_key": key} if key else flags


def default_model(provider: str) -> str:
    """The default model of a provider."""
    if provider in PROVIDERS:
        return PROVIDERS[provider].default_model
    raise MissingField(f"llm.model is required with the provider {provider}", field="llm.model")


def _expand_variables(value: Json, environ: Mapping[str, str], at: str) -> Json:
    """The value with `$NAME` and `${NAME}` substituted from the environment."""
    if isinstance(value, dict):
        return {key: _expand_variables(it, environ, f"{at}.{key}") for key, it in value.items()}
    if isinstance(value, list):
        return [_expand_variables(it, environ, f"{at}.{place}") for place, it in enumerate(value)]
    if not isinstance(value, str):
        return value

    def expand(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        # A missing key is an error only when it is needed, as without any file.
        if name not in environ and not at.endswith(".apiKey"):
            raise InvalidInput(f"{at}: the variable {name} is not set", field=at, variable=name)
        return environ.get(name, "")

    return _VARIABLE.sub(expand, value)
