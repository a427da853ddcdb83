"""The window: the only room that knows Qt.

Views change only by what the watcher tells (`ui.session`); a job that changes something says no more than how
far it is and what came of it. Texts of homes are shown escaped (`ui.display_text`), own texts pass through
`tr`.

Threading: the GUI thread, on which no file is read or written; what blocks is a job on a lane (`ui.jobs`).
Modules that differ say so. Failure: what a person can mend stands where it was asked for, with its next step;
anything else goes to `ui.app`.
"""
