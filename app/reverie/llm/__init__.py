"""Communication with models: providers over HTTP, the guarded agent loop, the secret vault and traces."""
