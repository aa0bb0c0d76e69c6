"""Backups: every row of the database in one archive that any PostgreSQL can take back.

- `archive.py` the file: tables as COPY text, a manifest with counts and hashes
- `dump.py` from a busy database, in one snapshot · `restore.py` into an empty one
- `export.py` one tenant's rows as JSON lines, for people

The key file is never in it: a backup that is stolen opens no credential.
"""
