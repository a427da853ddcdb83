"""Consolidation and harvest: engines, review, apply, coverage records and triggers."""
