"""Two writers of one `patterns.json`: Reverie in this process, and a process that imitates the agent.

That process follows the agent's lock protocol with nothing but the standard library.
"""

from __future__ import annotations

import json
import subprocess
import sys

from helpers.loki_home import LokiMaker
from reverie.services.failures import RecordEdits
from reverie.services.views import FieldChange

PATTERNS = "semantic/patterns.json"

OTHER_WRITER = """
import fcntl, json, os, sys, tempfile
path, count = sys.argv[1], int(sys.argv[2])
for number in range(count):
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock.fileno(), fcntl.LOCK_EX)
        document = json.load(open(path))
        document["patterns"].append({"id": f"other-{number}", "pattern": "from outside"})
        fd, temp = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".tmp_", suffix=".json")
        with os.fdopen(fd, "w") as file:
            json.dump(document, file, indent=2)
        os.replace(temp, path)
"""


def write_in_two_processes(maker: LokiMaker, edits: RecordEdits, count: int) -> list[str]:
    """Theirs adds `count` patterns, and ours changes one as often; what is missing at the end, in words."""
    path = maker.patterns({"id": "mine", "pattern": "ours", "confidence": 0})
    other = subprocess.Popen([sys.executable, "-c", OTHER_WRITER, str(path), str(count)])
    for number in range(count):
        edits.change(FieldChange(PATTERNS, ("patterns", 0, "confidence"), number, number + 1))
    problems = [] if other.wait(600) == 0 else ["The other writer failed."]
    listed = json.loads(path.read_bytes())["patterns"]
    found = {each["id"]: each for each in listed}
    wanted = {"mine", *(f"other-{number}" for number in range(count))}
    problems += [f"{name} is lost" for name in sorted(wanted - set(found))]
    problems += [f"{name} is nobody's" for name in sorted(set(found) - wanted)]
    if len(listed) != len(found):
        problems.append("a pattern is there twice")
    if found.get("mine", {}).get("confidence") != count:
        problems.append("a change of ours is lost")
    return problems
