"""The knowledge graph of a user: nodes and edges, searched in memory and stored in PostgreSQL."""
