"""Consolidation: engines, rules, prompts, review, apply; coverage, sweep, harvest, triggers."""
