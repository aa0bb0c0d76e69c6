"""The settings of the compiler that asks a model: whose keys, for whom, and how often."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from pydantic import SecretStr

from pecia.kernel.settings.model import SettingConflict, SettingsSection, setting
from pecia.kernel.settings.types import NonNegativeInt, Seconds, WebUrl

ProviderName: TypeAlias = Literal["openai", "anthropic", "gemini", "deepseek", "openrouter"]


def parse_kill_switch(text: str) -> bool:
    """A kill switch counts as thrown by whatever is written, unless it is plainly a no."""
    return text.strip().lower() not in ("", "0", "false", "no", "off")


class CkfSettings(SettingsSection):
    """Models that this server pays for. Callers with a key of their own need none of it."""

    section = "ckf"

    openai_key: SecretStr | None = setting(
        None,
        description="For the local owner, admins and the allowlist alone, as are the other keys.",
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
        description="Whose model `provider: operator` (or `lovable`) is; its key is set above.",
    )
    operator_url: WebUrl | None = setting(
        None,
        description="In place of a provider: a server of yours that speaks OpenAI's chat "
        "completions, up to `/v1`. An internal host is fine.",
    )
    operator_key: SecretStr | None = setting(
        None, description="The key of `operator_url`, if it wants one.", secret=True
    )
    operator_model: str = setting(
        "", description="The model to ask for; empty, the provider's usual one."
    )
    operator_disabled: bool = setting(
        False,
        description="Refuse every model that this server pays for, to admins too. Callers with "
        "a key of their own are served.",
        env=("MCP_LOVABLE_AI_DISABLED",),
        convert={"MCP_LOVABLE_AI_DISABLED": parse_kill_switch},
    )
    allowlist: tuple[str, ...] = setting(
        (), description="Who beside admins may use them, each as `tenant/user`."
    )
    daily_per_user: NonNegativeInt = setting(
        50, description="Compiles a user may have this server pay for in a day (UTC)."
    )
    daily_total: NonNegativeInt = setting(
        500, description="The same for all users of all tenants together."
    )
    chunk_timeout_s: Seconds = setting(
        90.0, description="How long a model may take over one part of a source.", unit="s"
    )

    def clashes(self) -> Iterator[SettingConflict]:
        if self.operator_url and self.operator_provider:
            yield SettingConflict("operator_url", "not set together with ckf.operator_provider")
        if self.operator_url and not self.operator_model:
            yield SettingConflict("operator_model", "set when ckf.operator_url is")

    def key_of(self, provider: str) -> str:
        """The key that this server holds for a provider, or nothing."""
        keys = {
            "openai": self.openai_key,
            "anthropic": self.anthropic_key,
            "gemini": self.gemini_key,
            "deepseek": self.deepseek_key,
            "openrouter": self.openrouter_key,
        }
        found = keys.get(provider)
        return found.get_secret_value() if found else ""
