"""Shared by the MCP benches: requests, compared apps, servers and clients. No bench by itself."""
