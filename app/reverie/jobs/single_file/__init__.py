"""Jobs that edit one file, its memory file or its notes, after new messages of a conversation.

`job` has the steps that they have in common; `notes` (session notes) and `writer` (the memory writer) define
the two jobs. `notes_service` and `writer_service` decide when a run is due.
"""
