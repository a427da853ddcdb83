"""A sample of the campaign part `leaks`: secrets of many forms reach no model and no trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign import leaks


def test_of_secrets_in_every_channel_at_most_one_in_a_hundred_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TEST_KEY", "tk-0123456789-abcdefghij-KEY")
    told, kept = leaks.run(tmp_path, rounds=1, each=4)
    capsys.readouterr()
    assert kept, told


def test_a_secret_is_found_however_it_is_encoded() -> None:
    for text in ('"q\\"x/y"', "q%22x%2Fy", "cSJ4L3k="):
        assert leaks.is_in('q"x/y', [text])
