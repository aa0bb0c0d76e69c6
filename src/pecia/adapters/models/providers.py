"""Which model providers there are, and how each is reached. Data, and no network."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pecia.adapters.http.address import AmbiguousAddress, parse_address
from pecia.adapters.http.egress_rules import EgressRules, EgressTarget
from pecia.kernel.errors import Forbidden

Wire: TypeAlias = Literal["openai", "deepseek", "openrouter", "compatible", "anthropic", "google"]


@dataclass(frozen=True, slots=True)
class ModelProvider:
    """`wire` says which protocol it speaks and with which habits.

    `max_tokens` is for those that require a limit: without one, they only stream.
    """

    name: str
    wire: Wire
    base_url: str
    default_model: str = ""
    max_tokens: int | None = None

    def key_header(self, key: str) -> tuple[str, str]:
        """The one header with the key."""
        if self.wire == "anthropic":
            return "x-api-key", key
        if self.wire == "google":
            return "x-goog-api-key", key
        return "authorization", f"Bearer {key}"


PROVIDERS = {
    provider.name: provider
    for provider in (
        ModelProvider("openai", "openai", "https://api.openai.com/v1", "gpt-5-mini"),
        ModelProvider(
            "anthropic", "anthropic", "https://api.anthropic.com", "claude-haiku-4-5", 8_192
        ),
        ModelProvider(
            "gemini", "google", "https://generativelanguage.googleapis.com", "gemini-2.5-flash"
        ),
        ModelProvider("deepseek", "deepseek", "https://api.deepseek.com/v1", "deepseek-chat"),
        ModelProvider(
            "openrouter", "openrouter", "https://openrouter.ai/api/v1", "google/gemini-2.5-flash"
        ),
    )
}


def compatible_provider(base_url: str, *, default_model: str = "") -> ModelProvider:
    """Any server that speaks OpenAI's chat completions, at a URL the operator configured."""
    return ModelProvider("compatible", "compatible", base_url.rstrip("/"), default_model)


def require_secure_origin(provider: ModelProvider, rules: EgressRules) -> EgressTarget:
    """Where the key will go. In the clear it goes only to what the operator trusts by name."""
    target = rules.check(provider.base_url, field="base_url")
    if target.url.scheme != "https" and not _is_trusted(target, rules):
        raise Forbidden(
            "refused: a key is sent over https, or to a host the operator allowed",
            rule="plaintext",
            host=target.host,
        )
    return target


def _is_trusted(target: EgressTarget, rules: EgressRules) -> bool:
    if {target.host, f"{target.host}:{target.port}"} & rules.hosts:
        return True
    try:
        address = parse_address(target.host)
    except AmbiguousAddress:
        return False
    return address is not None and any(address in network for network in rules.networks)
