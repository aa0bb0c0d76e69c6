"""Settings of the model compiler: keys, entitlement and quotas."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from pydantic import SecretStr

from pecia.kernel.settings.model import SettingConflict, SettingsSection, setting
from pecia.kernel.settings.types import NonNegativeInt, Seconds, WebUrl

ProviderName: TypeAlias = Literal["openai", "anthropic", "gemini", "deepseek", "openrouter"]


def parse_kill_switch(text: str) -> bool:
    """Any value turns the kill switch on, except a clear "no"."""
    return text.strip().lower() not in ("", "0", "false", "no", "off")


class CkfSettings(SettingsSection):
    """Models that this server pays for. Not needed for callers with their own key."""

    section = "ckf"

    openai_key: SecretStr | None = setting(
        None,
        description="Only for the local owner, admins and the allowlist; so are the other keys.",
        env=("OPENAI_API_KEY",),
        secret=True,
    )
    anthropic_key: SecretStr | None = setting(
        None, description="The same for Anthropic.", env=("ANTHROPIC_API_KEY",), secret=True
    )
    gemini_key: SecretStr | None = setting(
        None,
        description="The same for Google.",
        env=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        secret=True,
    )
    deepseek_key: SecretStr | None = setting(
        None, description="The same for DeepSeek.", env=("DEEPSEEK_API_KEY",), secret=True
    )
    openrouter_key: SecretStr | None = setting(
        None, description="The same for OpenRouter.", env=("OPENROUTER_API_KEY",), secret=True
    )
    operator_provider: ProviderName | None = setting(
        None,
        description="Provider of `provider: operator` (or `lovable`); its key is set above.",
    )
    operator_url: WebUrl | None = setting(
        None,
        description="Instead of a provider: your own server with OpenAI's chat "
        "completions, up to `/v1`. An internal host is fine.",
    )
    operator_key: SecretStr | None = setting(
        None, description="The key of `operator_url`, if it needs one.", secret=True
    )
    operator_model: str = setting("", description="The model; empty for the provider's default.")
    operator_disabled: bool = setting(
        False,
        description="Refuse every model that this server pays for, to admins too. Callers with "
        "a key of their own are served.",
        env=("MCP_LOVABLE_AI_DISABLED",),
        convert={"MCP_LOVABLE_AI_DISABLED": parse_kill_switch},
    )
    allowlist: tuple[str, ...] = setting(
        (), description="Users besides admins who may use them, each as `tenant/user`."
    )
    daily_per_user: NonNegativeInt = setting(
        50, description="Compiles per user and day (UTC) that this server pays for."
    )
    daily_total: NonNegativeInt = setting(
        500, description="The same for all users of all tenants together."
    )
    chunk_timeout_s: Seconds = setting(
        90.0, description="Timeout of a model for one part of a source.", unit="s"
    )

    def clashes(self) -> Iterator[SettingConflict]:
        if self.operator_url and self.operator_provider:
            yield SettingConflict("operator_url", "not set together with ckf.operator_provider")
        if self.operator_url and not self.operator_model:
            yield SettingConflict("operator_model", "set when ckf.operator_url is")

    def key_of(self, provider: str) -> str:
        """This server's key for a provider, or an empty string."""
        keys = {
            "openai": self.openai_key,
            "anthropic": self.anthropic_key,
            "gemini": self.gemini_key,
            "deepseek": self.deepseek_key,
            "openrouter": self.openrouter_key,
        }
        found = keys.get(provider)
        return found.get_secret_value() if found else ""
