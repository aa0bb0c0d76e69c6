"""The hub's tables, as numbered migrations."""
