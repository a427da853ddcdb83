"""Consolidation (a dream) and harvest: engines, review, apply, coverage, triggers. `service` is the door."""
