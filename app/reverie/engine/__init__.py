"""The engine: one process per profile that does the work, and the wire by which it is asked."""
