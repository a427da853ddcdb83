"""The agent mux, since renamed xum: its home, configuration, stores and transcripts."""
