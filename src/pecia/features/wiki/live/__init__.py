"""Live documents: concurrent editing by people and agents, merged by a CRDT."""
