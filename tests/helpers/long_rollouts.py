"""Rollouts as long as one likes, for measurements of memory and time; `python -m helpers.long_rollouts HOME
PROFILE` extracts one by the rules, reads it as for a model, and prints the peak of memory and the seconds."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from helpers.rollouts import rollout_bytes, said, shell


def write_long(path: Path, size: int) -> Path:
    """Append work to a rollout until it has at least `size` bytes."""
    at = 10
    with path.open("ab") as file:
        while file.tell() < size:
            lines = [said("user", f"Please look at part {at} of the build. Always use tabs.", at)]
            for step in range(20):
                output = f"line of output {at} {step}\n" * 150
                lines += shell(f"c{at}-{step}", f"make part-{at}-{step}", output, step % 3, at + step)
            lines.append(said("assistant", "I looked at it. " * 40, at + 30))
            file.write(rollout_bytes(lines))
            at += 40
    return path


@dataclass(frozen=True)
class Measured:
    """The peak of memory of a process that did it, and the seconds that both ways of reading took."""

    peak_mib: float
    seconds: float


def measured(directory: Path, size: int) -> Measured:
    """Extract a rollout of so many bytes in a process of its own."""
    from helpers.extraction import CWD, age, small_home, talk

    maker = small_home(directory / "codex", [])
    age(write_long(maker.rollout(1, talk(1, CWD)), size), 1)
    told = subprocess.run(
        [sys.executable, "-m", "helpers.long_rollouts", str(maker.root), str(directory / "profile")],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(told.stdout)
    return Measured(answer["peakMiB"], answer["seconds"])


def main(home: Path, profile: Path) -> None:
    from helpers.extraction import extract
    from reverie.agents.transcripts import ReadStatistics
    from reverie.jobs.extraction.stage_one import items_of, prompt_text
    from reverie.llm.vault import Vault

    began = time.monotonic()
    assert extract(home, profile).succeeded
    rollout = next((home / "sessions").rglob("*.jsonl"))
    assert prompt_text(items_of(rollout, ReadStatistics()), hide=Vault().hide).truncated
    seconds = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(json.dumps({"peakMiB": peak, "seconds": seconds}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
