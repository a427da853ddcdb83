"""Keys of model services: from the environment, else from the system's keyring; never in a file of Reverie's.

The keyring is imported on first use, because its back ends take long to load and most commands need no key.
It may ask its owner to unlock it, so it is called from a worker thread, and has `ASK_S` seconds to answer, in
a thread of its own. A keyring that is locked or does not answer is reported and not asked again for a while;
`never_unlock` is for processes without anybody to answer its prompt. A machine without a keyring simply has
no keys in it; only storing one raises `UserError`. No key gets into a sentence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Literal, Protocol

from reverie.errors import Unavailable, UserError
from reverie.files.paths import ask_each

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "reverie"
KeySource = Literal["environment", "keyring", "none needed", "missing", "locked", "not answering"]
KeyringProblem = Literal["", "locked", "not answering"]
ASK_S = 20.0
"""How long a keyring may take to answer: long enough for a person to unlock it."""
NETWORK_VARIABLES = frozenset(
    spelled
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
    for spelled in (name, name.lower())
)
"""What the environment says of the way to a service; a proxy may be named with its password."""
_AGAIN_S = 30.0
"""For so long a keyring that was in trouble is not asked again, or each service would open a prompt."""


class KeyStore(Protocol):
    """Keys by provider name."""

    def get(self, provider: str) -> str | None:
        """The key, or None; never raises for a store that cannot be read."""

    @property
    def trouble(self) -> KeyringProblem:
        """Why `get` could not look; empty: it could."""

    def set(self, provider: str, key: str) -> None:
        """Keep it. Raises `UserError`."""

    def delete(self, provider: str) -> None:
        """Forget it; nothing to forget is fine. Raises `UserError`."""


class _Ring:
    """What this process knows of the system's keyring."""

    def __init__(self) -> None:
        self.may_unlock = True
        self._asked: object = None
        self._trouble: KeyringProblem = ""
        self._until = 0.0

    @property
    def trouble(self) -> KeyringProblem:
        return self._trouble if self._asked is _keyring() else ""

    def ask(self, question: Callable[[KeyringBackend], str | None]) -> str | None:
        """The answer to a question, within `ASK_S`; None where it has none, or is in trouble."""
        ring = _keyring()
        if self.trouble and time.monotonic() < self._until:
            return None
        may_unlock = self.may_unlock
        answers = ask_each({0: lambda: _answer(ring, question, may_unlock=may_unlock)}, ASK_S)
        text, trouble = answers.get(0, (None, "not answering"))
        self._asked, self._trouble, self._until = ring, trouble, time.monotonic() + _AGAIN_S
        return text

    def forget(self) -> None:
        """Ask the keyring again next time: a person changed something."""
        self._asked = None


def _answer(
    ring: KeyringBackend, question: Callable[[KeyringBackend], str | None], *, may_unlock: bool
) -> tuple[str | None, KeyringProblem]:
    import keyring.errors

    try:
        if not may_unlock and _is_locked(ring):
            return None, "locked"
        return question(ring), ""
    except keyring.errors.KeyringLocked:
        return None, "locked"
    except (keyring.errors.KeyringError, OSError, RuntimeError):
        # No backend, or its service is gone: then there is no key in it.
        return None, ""


def _is_locked(ring: KeyringBackend) -> bool:
    """Whether asking would open a prompt. Only the Secret Service does so; this check does not unlock it."""
    from keyring.backends import SecretService, chainer

    rings = ring.backends if isinstance(ring, chainer.ChainerBackend) else (ring,)
    if not any(isinstance(each, SecretService.Keyring) for each in rings):
        return False
    import secretstorage

    try:
        with closing(secretstorage.dbus_init()) as bus:
            return bool(secretstorage.Collection(bus).is_locked())
    except secretstorage.exceptions.ItemNotFoundException:
        return False
    except secretstorage.exceptions.SecretStorageException as error:
        raise RuntimeError(str(error)) from error


_RING = _Ring()


def never_unlock() -> None:
    """This process must not open a prompt of the keyring, because nobody may be there to answer it."""
    _RING.may_unlock = False


class SystemKeys:
    """The keyring of the system (Secret Service, KWallet, Keychain, Credential Locker)."""

    def get(self, provider: str) -> str | None:
        """The key of this provider; None where there is none, or the keyring cannot be asked."""
        return _RING.ask(lambda ring: ring.get_password(SERVICE, provider) or None)

    @property
    def trouble(self) -> KeyringProblem:
        return _RING.trouble

    def set(self, provider: str, key: str) -> None:
        """Store the key. Raises `UserError` for one that is none, and where the keyring refuses."""
        import keyring.errors

        key = key.strip()
        if not usable(key):
            raise UserError(
                "The key was not stored.",
                cause="It is empty, or holds characters that no key has.",
                next_step="Copy it again from the service's site.",
            )
        _RING.forget()
        try:
            _keyring().set_password(SERVICE, provider, key)
        except (keyring.errors.KeyringError, OSError, RuntimeError) as error:
            raise _no_keyring("The key was not stored.") from error

    def delete(self, provider: str) -> None:
        """Forget the key; one that is not there is no error. Raises `UserError`."""
        import keyring.errors

        _RING.forget()
        try:
            if _keyring().get_password(SERVICE, provider) is not None:
                _keyring().delete_password(SERVICE, provider)
        except keyring.errors.PasswordDeleteError:
            # Someone else was faster.
            return
        except (keyring.errors.KeyringError, OSError, RuntimeError) as error:
            raise _no_keyring("The key was not removed.") from error


def find_key(
    provider: str, names: tuple[str, ...], *, needed: bool, env: Mapping[str, str], keys: KeyStore
) -> tuple[str | None, KeySource]:
    """The key of a provider and where it comes from; `names` are its environment variables, first one
    first."""
    for name in names:
        key = env.get(name, "").strip()
        if key:
            return key, "environment"
    stored = keys.get(provider)
    if stored and stored.strip():
        return stored.strip(), "keyring"
    if not needed:
        return None, "none needed"
    return None, keys.trouble or "missing"


def usable(key: str) -> bool:
    """Whether `key` can be sent in a header."""
    return bool(key) and all("!" <= character <= "~" for character in key)


def _keyring() -> KeyringBackend:
    import keyring

    return keyring.get_keyring()


def _no_keyring(title: str) -> UserError:
    return Unavailable(
        title,
        cause="The keyring of this system is missing, locked or refuses.",
        next_step="Unlock or install one, or set the key as an environment variable.",
    )
