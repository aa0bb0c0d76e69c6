"""MCP client for upstream servers. Beside the interface, only this speaks MCP."""
