"""Hub: tools of upstream MCP servers, served as our own."""
