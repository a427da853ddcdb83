"""Drafts on disk: byte for byte, private, never in each other's way, and never lost for being damaged."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.benches import NOW, contents, sample_parts, workspace
from helpers.profiles import examples
from reverie.agents.scopes import Scope
from reverie.files.locks import ProcessId
from reverie.services import drafts
from reverie.services.container import HomeContainer
from reverie.services.drafts import COMPANION_STORE, DraftService, drafts_directory
from reverie.services.edits import CompanionFiles, UserEdits, current_text
from reverie.services.views import Draft, Offers, draft_name
from reverie.values import replace

ACME = "a1f3c9e2b7"
DEPLOY = "/memories/project/deploy.md"
TYPED = "\ufeffone\r\ntwo\u2028three\rfour \U0001f600 \ud800 caf\u00e9\n"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


def a_draft(parts: HomeContainer, content: str = TYPED, path: str = DEPLOY) -> Draft:
    context = workspace(parts, ACME)
    scope, _slash, rel = path.removeprefix("/memories/").partition("/")
    store = parts.home.scope_root(context, Scope(scope)).key
    now = UserEdits(parts).read(context, path)
    return Draft(store, rel, path, context, content, now.content, now.sha256, 3, NOW)


def drafts_of(parts: HomeContainer) -> DraftService:
    return DraftService(parts, current_text(parts))


def offered(parts: HomeContainer, instance: str) -> Offers:
    return drafts_of(parts).offered(instance)


def directory(parts: HomeContainer) -> Path:
    return drafts_directory(parts.profile, parts.home_id)


def file_of(parts: HomeContainer) -> Path:
    return parts.home.root / "memory/project/acme-api-db553efff149/deploy.md"


def test_a_draft_comes_back_as_it_was_typed_to_the_next_window(parts: HomeContainer) -> None:
    draft = a_draft(parts)
    drafts_of(parts).keep(draft, "00000001")
    found = offered(parts, "00000002")
    assert [offer.draft for offer in found.offers] == [draft]
    assert found.offers[0].disk is not None
    assert not found.offers[0].changed
    assert found.offers[0].gap == ""


@given(content=st.text(st.characters(codec=None)))
@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_comes_back_byte_for_byte(parts: HomeContainer, content: str) -> None:
    name = drafts_of(parts).keep(a_draft(parts, content), "00000001")
    offer = drafts_of(parts).offer(name)
    assert offer is not None
    assert offer.draft.content == content


def test_drafts_are_private_and_nothing_is_written_in_the_home(parts: HomeContainer) -> None:
    before = contents(parts.home.root)
    name = drafts_of(parts).keep(a_draft(parts), "00000001")
    offered(parts, "00000002")
    assert stat.S_IMODE(directory(parts).stat().st_mode) == 0o700
    assert stat.S_IMODE((directory(parts) / name).stat().st_mode) == 0o600
    assert contents(parts.home.root) == before


def test_a_window_is_not_offered_its_own_drafts(parts: HomeContainer) -> None:
    drafts_of(parts).keep(a_draft(parts), "00000001")
    assert offered(parts, "00000001").offers == ()


@dataclass(frozen=True)
class Client:
    """A client of the engine, by its process."""

    pid: int


def test_drafts_of_a_living_client_are_not_offered_those_of_a_dead_one_are(parts: HomeContainer) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        drafts_of(parts).keep(a_draft(parts), "00000001", client=Client(other.pid))
        assert offered(parts, "00000002").offers == ()
        other.kill()
        other.wait()
    assert len(offered(parts, "00000002").offers) == 1


def test_a_window_closed_by_the_process_that_asks_left_its_drafts(parts: HomeContainer) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        client = Client(other.pid)
        drafts_of(parts).keep(a_draft(parts), "00000001", client=client)
        assert len(drafts_of(parts).offered("00000002", client=client).offers) == 1
        other.kill()


def test_a_save_that_was_overwritten_is_offered_whoever_noticed(parts: HomeContainer) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        draft = replace(a_draft(parts), overwritten=True)
        drafts_of(parts).keep(draft, "00000001", client=Client(other.pid))
        assert [offer.draft for offer in offered(parts, "00000002").offers] == [draft]
        other.kill()


def test_two_windows_and_two_files_never_share_a_draft(parts: HomeContainer) -> None:
    first = drafts_of(parts).keep(a_draft(parts, "first"), "00000001")
    second = drafts_of(parts).keep(a_draft(parts, "second"), "00000002")
    third = drafts_of(parts).keep(a_draft(parts, "third", "/memories/global/testing.md"), "00000002")
    assert len({first, second, third}) == 3
    offers = offered(parts, "00000003").offers
    assert {offer.draft.content for offer in offers} == {"first", "second", "third"}


def test_the_next_version_of_a_draft_replaces_it_and_those_it_grew_from(parts: HomeContainer) -> None:
    old = drafts_of(parts).keep(a_draft(parts, "old"), "00000001")
    desk = drafts_of(parts)
    desk.keep(a_draft(parts, "new"), "00000002", replaces=[old])
    desk.keep(a_draft(parts, "newer"), "00000002")
    offers = offered(parts, "00000003").offers
    assert [offer.draft.content for offer in offers] == ["newer"]


@given(store=st.text(), rel=st.text())
def test_no_name_of_a_memory_leads_a_draft_elsewhere(store: str, rel: str) -> None:
    name = draft_name(store, rel, "0123abcd")
    assert os.sep not in name
    assert len(name) < 100


@pytest.mark.parametrize("instance", ["../../abcd", "", "0123ABCD", "0123abcd/"])
def test_an_instance_that_is_no_instance_is_refused(instance: str) -> None:
    with pytest.raises(ValueError, match="8 hex digits"):
        draft_name("global", "a.md", instance)


def test_only_drafts_can_be_dropped(parts: HomeContainer) -> None:
    with pytest.raises(ValueError, match="not the name"):
        drafts_of(parts).drop(["../../../registry.json"])


def test_a_draft_whose_text_was_saved_is_removed_and_not_offered(parts: HomeContainer) -> None:
    name = drafts_of(parts).keep(a_draft(parts, "saved\n"), "00000001")
    file_of(parts).write_text("saved\n")
    assert offered(parts, "00000002").offers == ()
    assert not (directory(parts) / name).exists()


def test_a_draft_of_a_changed_file_says_so(parts: HomeContainer) -> None:
    drafts_of(parts).keep(a_draft(parts), "00000001")
    file_of(parts).write_text("theirs\n")
    (offer,) = offered(parts, "00000002").offers
    assert offer.changed
    assert offer.disk is not None
    assert offer.disk.content == "theirs\n"


def test_a_draft_of_a_deleted_file_is_offered(parts: HomeContainer) -> None:
    drafts_of(parts).keep(a_draft(parts), "00000001")
    file_of(parts).unlink()
    (offer,) = offered(parts, "00000002").offers
    assert (offer.disk, offer.gap, offer.changed) == (None, "", True)


def test_a_draft_of_a_file_that_cannot_be_written_any_more_is_kept_with_the_reason(
    parts: HomeContainer,
) -> None:
    name = drafts_of(parts).keep(a_draft(parts), "00000001")
    file_of(parts).write_bytes(b"caf\xe9")
    (offer,) = offered(parts, "00000002").offers
    assert "UTF-8" in offer.gap
    assert (directory(parts) / name).exists()


def test_a_draft_of_a_vanished_workspace_is_kept_and_offered(parts: HomeContainer) -> None:
    context = workspace(parts, ACME)
    store = parts.home.scope_root(context, Scope.WORKSPACE).key
    gone = replace(context, workspace_id="ffffffffff")
    draft = Draft(store, "plan.md", "/memories/workspace/plan.md", gone, "typed", "", None, 0, NOW)
    drafts_of(parts).keep(draft, "00000001")
    (offer,) = offered(parts, "00000002").offers
    assert offer.draft == draft
    assert offer.gap


def test_a_companions_draft_finds_its_file_again(parts: HomeContainer) -> None:
    context = workspace(parts, ACME)
    companion = next(each for each in parts.home.companions(context) if each.exists)
    now = CompanionFiles(parts).read(companion)
    draft = Draft(COMPANION_STORE, str(companion.path), "", context, "mine", now.content, now.sha256, 0, NOW)
    drafts_of(parts).keep(draft, "00000001")
    (offer,) = offered(parts, "00000002").offers
    assert offer.companion == companion
    assert not offer.changed


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "no json", "other json"])
def test_a_damaged_draft_is_set_aside_told_once_and_never_lost(parts: HomeContainer, damage: str) -> None:
    file = directory(parts) / drafts_of(parts).keep(a_draft(parts), "00000001")
    whole = file.read_bytes()
    file.write_bytes(
        {
            "cut": whole[:-40],
            "changed": whole.replace(b"three", b"other"),
            "empty": b"",
            "no json": b"\xff\x00",
            "other json": b"[1]",
        }[damage]
    )
    broken = file.read_bytes()
    good = drafts_of(parts).keep(a_draft(parts, "good", "/memories/global/testing.md"), "00000001")
    found = offered(parts, "00000002")
    assert [offer.name for offer in found.offers] == [good]
    assert [path.read_bytes() for path in found.damaged] == [broken]
    assert offered(parts, "00000002").damaged == ()
    assert found.damaged[0].exists()


def test_an_unknown_owner_of_another_machine_start_counts_as_gone(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(drafts, "this_process", lambda: ProcessId(1, 1, "another boot"))
        drafts_of(parts).keep(a_draft(parts), "00000001")
    assert len(offered(parts, "00000002").offers) == 1
