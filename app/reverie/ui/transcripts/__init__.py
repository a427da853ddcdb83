"""The Transcripts tab: conversations between the user and the agent."""
