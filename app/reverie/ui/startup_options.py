"""The options with which a window is created."""

from __future__ import annotations

from pathlib import Path

from reverie.engine.start import StartingEngine
from reverie.services.machines import MachineAddress
from reverie.values import Struct


class StartupOptions(Struct, frozen=True):
    """The options with which a window is created, from the command line and the last window."""

    homes: tuple[Path, ...] = ()
    """The homes to open; if empty, those that are found on this machine."""
    workspace: str = ""
    """The id of the workspace to select."""
    demo: Path | None = None
    """The directory in which a copy of the demo home can be created; None for no demo."""
    open_demo: bool = False
    """True to open the copy of the demo home at once."""
    and_found: bool = False
    """True to open the homes that are found on this machine in addition to `homes`."""
    choosing: bool = False
    """True if the user chooses which of the found homes is shown, as at a first start."""
    watching: bool = True
    """True to watch the files of open homes."""
    engine: bool = False
    """True to use the engine of the profile, a separate process, instead of one in this process."""
    asking: bool = True
    """True if the user may be asked questions; if not, a home that was moved is opened as a new one."""
    project: str = ""
    """The path of the project to select if no workspace is named."""
    closed: tuple[Path, ...] = ()
    """Homes that the user closed; they are not reopened when they are found."""
    hosts: tuple[MachineAddress, ...] = ()
    """Other machines whose homes are opened as well."""
    starting: StartingEngine | None = None
    """The engine, if it has been started already."""
