"""Keys come from the environment, then the keyring; a machine without one simply has none."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import keyring
import keyring.errors
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail

from helpers.asking import KEY, MemoryKeys
from reverie.errors import UserError
from reverie.llm import keys as key_module
from reverie.llm.catalogue import Catalogue
from reverie.llm.keys import SystemKeys, find_key, never_unlock
from reverie.llm.provider import ProviderError


class Ring(KeyringBackend):
    """A keyring in memory; `trouble` is raised by everything."""

    priority = 1  # type: ignore[assignment]

    def __init__(self, trouble: Exception | None = None) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], str] = {}
        self.trouble = trouble

    def _check(self) -> None:
        if self.trouble is not None:
            raise self.trouble

    def get_password(self, service: str, username: str) -> str | None:
        self._check()
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._check()
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._check()
        del self.held[service, username]


@pytest.fixture
def ring() -> Iterator[Ring]:
    before = keyring.get_keyring()
    mine = Ring()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(before)


def test_a_key_is_kept_under_our_name_and_forgotten(ring: Ring) -> None:
    keys = SystemKeys()
    keys.set("openai", f" {KEY}\n")
    assert ring.held == {("reverie", "openai"): KEY}
    assert keys.get("openai") == KEY
    keys.delete("openai")
    keys.delete("openai")
    assert keys.get("openai") is None


@pytest.mark.parametrize("bad", ["", "  ", "sk test", "sk-tést", "a\nb"])
def test_what_is_no_key_is_not_stored_and_not_repeated(ring: Ring, bad: str) -> None:
    with pytest.raises(UserError) as caught:
        SystemKeys().set("openai", bad)
    assert ring.held == {}
    assert not bad.strip() or bad not in str(caught.value)


@pytest.mark.parametrize(
    "trouble",
    [
        keyring.errors.KeyringLocked("locked"),
        keyring.errors.InitError(KEY),
        OSError("bus"),
        RuntimeError("x"),
    ],
)
def test_a_keyring_that_does_not_work_has_no_keys_and_says_so_on_storing(
    ring: Ring, trouble: Exception
) -> None:
    ring.trouble = trouble
    keys = SystemKeys()
    assert keys.get("openai") is None
    for act in (lambda: keys.set("openai", KEY), lambda: keys.delete("openai")):
        with pytest.raises(UserError) as caught:
            act()
        assert "environment variable" in caught.value.next_step
        assert KEY not in str(caught.value)


def test_a_machine_without_any_keyring_has_no_keys(ring: Ring) -> None:
    keyring.set_keyring(fail.Keyring())  # type: ignore[no-untyped-call]
    assert SystemKeys().get("openai") is None
    with pytest.raises(UserError):
        SystemKeys().set("openai", KEY)


def test_the_environment_comes_before_the_keyring_and_empty_is_none() -> None:
    keys, names = MemoryKeys(openai="stored"), ("FIRST", "SECOND")

    def find(**env: str) -> tuple[str | None, str]:
        return find_key("openai", names, needed=True, env=env, keys=keys)

    assert find(SECOND="b", FIRST=" a ") == ("a", "environment")
    assert find(FIRST=" ", SECOND="b") == ("b", "environment")
    assert find() == ("stored", "keyring")
    keys.delete("openai")
    assert find() == (None, "missing")
    assert find_key("ollama", (), needed=False, env={}, keys=keys) == (None, "none needed")


class Prompting(Ring):
    """A locked keyring whose prompt nobody answers."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.over = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        self.over.wait(30)
        return super().get_password(service, username)


@pytest.fixture
def prompting(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> Iterator[Prompting]:
    mine = Prompting()
    keyring.set_keyring(mine)
    monkeypatch.setattr(key_module, "ASK_S", 0.1)
    monkeypatch.setattr(key_module, "_RING", key_module._Ring())
    yield mine
    mine.over.set()
    for thread in threading.enumerate():
        if thread.name == "reverie-ask":
            thread.join(30)


def test_a_keyring_that_nobody_unlocks_is_given_up_and_not_asked_for_every_service(
    prompting: Prompting,
) -> None:
    keys = SystemKeys()
    assert find_key("openai", (), needed=True, env={}, keys=keys) == (None, "not responding")
    assert find_key("anthropic", (), needed=True, env={}, keys=keys) == (None, "not responding")
    assert find_key("ollama", (), needed=False, env={}, keys=keys) == (None, "none needed")
    assert prompting.asked == 1


def test_where_nobody_may_be_there_a_locked_keyring_is_not_unlocked(
    prompting: Prompting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_module, "_is_locked", lambda _ring: True)
    never_unlock()
    assert find_key("openai", (), needed=True, env={}, keys=SystemKeys()) == (None, "locked")
    assert prompting.asked == 0


def test_a_locked_keyring_is_said_to_be_locked(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_module, "_RING", key_module._Ring())
    ring.trouble = keyring.errors.KeyringLocked("the prompt was dismissed")
    with pytest.raises(ProviderError) as caught:
        Catalogue({}, {}, SystemKeys()).provider("openai:gpt-5")
    assert caught.value.cause == "The keyring is locked."
    assert "Unlock the keyring" in caught.value.next_step
    assert "OPENAI_API_KEY" in caught.value.next_step


def test_once_a_person_stored_a_key_it_is_asked_again(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_module, "_RING", key_module._Ring())
    keys = SystemKeys()
    ring.trouble = keyring.errors.KeyringLocked("locked")
    assert (keys.get("openai"), keys.trouble) == (None, "locked")
    ring.trouble = None
    assert keys.get("openai") is None, "not asked again so soon"
    keys.set("openai", KEY)
    assert (keys.get("openai"), keys.trouble) == (KEY, "")
