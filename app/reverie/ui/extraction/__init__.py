"""The extraction of a Codex home's rollouts, by hand: asked for, watched, told."""
