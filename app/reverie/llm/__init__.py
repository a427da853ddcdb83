"""Communication with models: providers over HTTP, the agent loop, placeholders for secrets, and traces."""
