"""The memory server (`reverie mcp`): other programs read and write the memories of a home, over MCP."""
