"""The window: the only room that uses Qt.

Views change only when the watcher reports a change (`ui.session`); a job that changes something reports its
progress and result, nothing else. Texts of homes are escaped before they are shown (`ui.display_text`); our
own texts pass through `tr`.

Threading: the GUI thread, on which no file is read or written; what blocks is a job on a lane (`ui.jobs`).
Modules that differ say so. Failure: what the user can fix is shown where it was asked for, with the next
step; anything else goes to `ui.app`.
"""
