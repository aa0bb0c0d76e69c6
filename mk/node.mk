# What the tests of MCP drive us with: Node, the conformance suite, real clients. Into .tools/.
.PHONY: tools conformance

tools: $(DEV)
	$(BIN)/python -m scripts.node

# The MCP suite, the inspector and the real clients alone.
conformance: tools
	$(PYTEST) tests/mcp -m slow $(ARGS)
