"""The one agent loop: messages, a model behind a wire format, guarded tools, limits, trace, verdict."""
