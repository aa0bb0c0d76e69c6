"""A glossary for Pecia. Imported by every command: it registers, and opens nothing."""

from pecia.plugin import FeatureRegistration
from pecia_glossary.settings import GlossarySettings

GLOSSARY = FeatureRegistration(
    "glossary",
    build="pecia_glossary.feature:build",
    settings=(GlossarySettings,),
    migrations="pecia_glossary.schema",
)
