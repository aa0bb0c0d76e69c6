"""The lake's own tables, as numbered migrations."""
