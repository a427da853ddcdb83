"""Statements of memories about a project, checked against its repository."""
