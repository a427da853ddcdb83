"""The files of each agent on disk, behind one interface. Other packages import `agents.base`."""
