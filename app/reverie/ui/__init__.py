"""The window: the only package that uses Qt.

Views change only when the watcher reports a change (`ui.session`); a job that changes something reports its
progress and result, nothing else. Text that comes from a home is escaped before it is shown
(`ui.display_text`); the window's own texts are translated with `tr`.

Threading: the GUI thread, on which no file is read or written; blocking work runs as a job on a lane
(`ui.jobs`). A module that differs states it. Failure: an error that the user can fix is shown next to the
control that caused it, with the next step; any other error goes to `ui.crash_report`.
"""
