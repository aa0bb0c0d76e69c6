"""Conversations with the MCP servers of others. Beside the door, only this speaks MCP."""
