"""The window: the only package that uses Qt.

Views change only when the watcher reports a change (`ui.session`); a job that changes something only reports
its progress and result. Text that comes from a home is escaped before it is shown (`ui.display_text`); the
window's own texts are translated with `tr`.

Threading, unless a module states otherwise: everything runs on the GUI thread, which never reads or writes a
file; blocking work runs as a job on a lane (`ui.jobs`). Failure: an error that the user can fix is shown next
to the control that caused it, with the next step; any other error goes to `ui.crash_report`.
"""
