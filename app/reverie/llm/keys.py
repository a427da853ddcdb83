"""Keys of model services: from the environment, else from the system's keyring.

Reverie never writes a key to a file of its own. The keyring is imported on first use, because its back ends
take long to load and most commands need no key. The keyring may prompt its owner to unlock it, so it is
called from a worker thread, and has `ASK_S` seconds to respond. If it is locked or does not respond, this is
reported, and the keyring is not used for a while; `never_unlock` is for processes in which no person could
respond to the prompt. A machine without a keyring counts as a machine without keys; only storing a key raises
`UserError`. No key is ever part of a message.

Threading: blocking, any thread but the GUI's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Literal, Protocol

from reverie.agents.capabilities import KeySource
from reverie.errors import Unavailable, UserError
from reverie.files.directory import ask_each

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend


SERVICE = "reverie"
KeyringProblem = Literal["", "locked", "not responding"]
ASK_S = 20.0
"""The time within which a keyring must respond, in seconds; long enough for a person to unlock it."""
NETWORK_VARIABLES = frozenset(
    spelled
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
    for spelled in (name, name.lower())
)
"""The environment variables that affect the connection to a service.

The value of a proxy's variable may contain the proxy's password.
"""
_AGAIN_S = 30.0
"""The seconds after which a keyring that failed is tried again.

Without this pause each service would open a prompt.
"""


class KeyStore(Protocol):
    """A store of keys of model services, by provider name."""

    def get(self, provider: str) -> str | None:
        """Return the key of the service `provider`; None if there is none or the store cannot be read."""

    @property
    def trouble(self) -> KeyringProblem:
        """The problem that kept the last call of `get` from reading the store; empty if there was none."""

    def set(self, provider: str, key: str) -> None:
        """Store the key of the service `provider`. Raises `UserError`."""

    def delete(self, provider: str) -> None:
        """Delete the key of the service `provider` if there is one. Raises `UserError`."""


class _Ring:
    """This process's access to the system's keyring.

    It remembers the last problem, and does not use the keyring again for 30 seconds after one.
    """

    def __init__(self) -> None:
        self.may_unlock = True
        self._asked: object = None
        self._trouble: KeyringProblem = ""
        self._until = 0.0

    @property
    def trouble(self) -> KeyringProblem:
        return self._trouble if self._asked is _keyring() else ""

    def ask(self, question: Callable[[KeyringBackend], str | None]) -> str | None:
        """Call `question` with the keyring, and return its result.

        Returns None if the keyring does not respond within `ASK_S` seconds, fails, or failed a short time
        ago.
        """
        ring = _keyring()
        if self.trouble and time.monotonic() < self._until:
            return None
        may_unlock = self.may_unlock
        answers = ask_each({0: lambda: _answer(ring, question, may_unlock=may_unlock)}, ASK_S)
        text, trouble = answers.get(0, (None, "not responding"))
        self._asked, self._trouble, self._until = ring, trouble, time.monotonic() + _AGAIN_S
        return text

    def forget(self) -> None:
        """Forget the last problem, so that the next call tries the keyring again.

        Called when a person stores or deletes a key: the problem may be solved by then.
        """
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
        # No backend, or its service has ended: then there is no key in it.
        return None, ""


def _is_locked(ring: KeyringBackend) -> bool:
    """Return whether reading a key from the keyring would open a prompt; nothing is unlocked.

    False for any other keyring than the Secret Service, because only that one opens prompts.
    """
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
    """Never prompt the user to unlock the keyring in this process; use it where no person could respond."""
    _RING.may_unlock = False


class SystemKeys:
    """A `KeyStore` in the keyring of the system (Secret Service, KWallet, Keychain, Credential Locker)."""

    def get(self, provider: str) -> str | None:
        """Return the key of the service `provider`; None if there is none or the keyring fails."""
        return _RING.ask(lambda ring: ring.get_password(SERVICE, provider) or None)

    @property
    def trouble(self) -> KeyringProblem:
        return _RING.trouble

    def set(self, provider: str, key: str) -> None:
        """Store the key of the service `provider`.

        Raises `UserError` if the key cannot be sent in an HTTP header or the keyring refuses.
        """
        import keyring.errors

        key = key.strip()
        if not usable(key):
            raise UserError(
                "The key could not be saved.",
                cause="The key is empty, or contains characters that are not allowed in a key.",
                next_step="Copy the key again from the provider's site.",
            )
        _RING.forget()
        try:
            _keyring().set_password(SERVICE, provider, key)
        except (keyring.errors.KeyringError, OSError, RuntimeError) as error:
            raise _no_keyring("The key could not be saved.") from error

    def delete(self, provider: str) -> None:
        """Delete the key of the service `provider` if there is one. Raises `UserError`."""
        import keyring.errors

        _RING.forget()
        try:
            if _keyring().get_password(SERVICE, provider) is not None:
                _keyring().delete_password(SERVICE, provider)
        except keyring.errors.PasswordDeleteError:
            # Another program was faster.
            return
        except (keyring.errors.KeyringError, OSError, RuntimeError) as error:
            raise _no_keyring("The key could not be removed.") from error


class TypedKey:
    """A key store that also returns one key which a person has typed but not stored yet.

    `kept`: the real store; `key`: the typed key for `provider`.
    """

    def __init__(self, kept: KeyStore, provider: str, key: str) -> None:
        self._kept, self._provider, self._key = kept, provider, key
        self.set, self.delete = kept.set, kept.delete

    def get(self, provider: str) -> str | None:
        """Return the typed key if it is for `provider`, else the stored key; None if there is none."""
        return self._key if provider == self._provider else self._kept.get(provider)

    @property
    def trouble(self) -> KeyringProblem:
        return self._kept.trouble


def find_key(
    provider: str, names: tuple[str, ...], *, needed: bool, env: Mapping[str, str], keys: KeyStore
) -> tuple[str | None, KeySource]:
    """Return the key of the service `provider` (None if there is none), and where it comes from.

    `names`: the environment variables in `env` that are tried, in this order, before `keys`. `needed`:
    whether the service requires a key. Without a key the second value is "none needed" if it does not;
    otherwise it is the problem of the keyring, or "missing".
    """
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
    """Return whether `key` can be sent in an HTTP header: not empty, and only printable ASCII."""
    return bool(key) and all("!" <= character <= "~" for character in key)


def _keyring() -> KeyringBackend:
    import keyring

    return keyring.get_keyring()


def _no_keyring(title: str) -> UserError:
    return Unavailable(
        title,
        cause="The system keyring is missing, is locked, or denies access.",
        next_step="Unlock or install a keyring, or set the key as an environment variable.",
    )
