"""Plain text: redaction of secrets, lengths and token counts, phrases, comparison of sequences."""
