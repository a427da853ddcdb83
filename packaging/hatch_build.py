"""The build hook of the project: compiles the translations that a wheel brings and an installation reads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))
from translations import compile_ts


class TranslationsHook(BuildHookInterface[Any]):
    """Hatch finds it by the name of this file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile each `.ts`; git ignores the results, so they are named as artifacts."""
        for file in Path(self.root, "resources", "translations").glob("*.ts"):
            compile_ts(file)
        build_data["artifacts"].append("/resources/translations/*.qm")
