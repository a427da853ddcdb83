"""Extraction for Codex: makes a text about each rollout, and a handbook for each directory.

A rollout is the file of one conversation (a thread). In stage one each rollout becomes a text, which Codex
calls its trace, with a short summary. In stage two the traces of a directory become its handbook.
"""
