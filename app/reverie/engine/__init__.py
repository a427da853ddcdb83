"""The engine: one process per profile that does the work, and its connections to clients."""
