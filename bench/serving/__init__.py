"""What the benches of MCP share: requests, rivals, servers and clients. No bench by itself."""
