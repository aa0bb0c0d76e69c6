"""Hub: other servers' tools under our roof."""
