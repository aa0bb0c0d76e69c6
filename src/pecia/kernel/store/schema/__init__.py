"""The kernel's migrations: numbered .sql files. A released file is never edited."""
