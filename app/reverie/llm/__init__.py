"""One conversation with a model: providers over httpx, guarded tools, limits, the secret vault, traces."""
