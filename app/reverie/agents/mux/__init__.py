"""mux/xum: its home, configuration, stores and transcripts."""
