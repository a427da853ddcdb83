"""Communication with models: providers over HTTP, the guarded agent loop, tokens for secrets, and traces."""
