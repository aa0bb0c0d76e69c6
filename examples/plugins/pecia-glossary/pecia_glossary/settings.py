"""The settings of the glossary."""

from pecia.plugin import SettingsSection, setting


class GlossarySettings(SettingsSection):
    section = "glossary"

    max_terms: int = setting(10_000, description="How many terms a tenant may define.")
