"""The knowledge graph of a user: nodes and edges, searched in memory and kept in the store."""
