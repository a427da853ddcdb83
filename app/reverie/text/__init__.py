"""Text of strangers: secrets taken out, tokens counted."""
