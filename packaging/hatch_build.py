"""The build hook of the project: it compiles the translations that are part of the wheel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))
from translations import compile_ts


class TranslationsHook(BuildHookInterface[Any]):
    """The hook; Hatch finds it by the name of this file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile each `.ts` file, and list the results in `build_data`, because git ignores them."""
        for file in Path(self.root, "resources", "translations").glob("*.ts"):
            compile_ts(file)
        build_data["artifacts"].append("/resources/translations/*.qm")
