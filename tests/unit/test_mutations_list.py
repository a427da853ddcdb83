"""The list of mutations stays true: what each breaks, and the tests that guard it, are still there."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.mutations import MUTATIONS, ROOT, Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.promise)
def test_what_a_mutation_breaks_and_who_guards_it_is_there(mutation: Mutation) -> None:
    text = (ROOT / "app" / "reverie" / mutation.file).read_text("utf-8")
    assert mutation.old in text, "say the new text in tests/campaign/mutations.py"
    for test in mutation.tests:
        assert Path(ROOT, test).is_file()
