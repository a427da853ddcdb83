"""The Traces tab: dumps with their verdict, as a timeline, as messages and raw."""
