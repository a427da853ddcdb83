"""The Transcripts tab: what a person and an agent said to each other."""
