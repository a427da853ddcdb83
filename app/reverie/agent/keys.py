"""Keys of model services: from the environment, else from the system's keyring; never in a file of ours.

The keyring is imported on first use, and may ask its owner to unlock it: call from a worker thread. A machine
without one simply has no keys in it; only storing says so, as a `MendableError`. No key gets into a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Protocol

from reverie.errors import MendableError, Unavailable

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "reverie"
KeySource = Literal["environment", "keyring", "none needed", "missing"]


class KeyStore(Protocol):
    """Keys by provider name."""

    def get(self, provider: str) -> str | None:
        """The key, or None; never raises for a store that cannot be read."""

    def set(self, provider: str, key: str) -> None:
        """Keep it. Raises `MendableError`."""

    def delete(self, provider: str) -> None:
        """Forget it; nothing to forget is fine. Raises `MendableError`."""


class SystemKeys:
    """The keyring of the system (Secret Service, KWallet, Keychain, Credential Locker)."""

    def get(self, provider: str) -> str | None:
        """The key of this provider; None where there is none, or the keyring cannot be asked."""
        import keyring.errors

        try:
            return _keyring().get_password(SERVICE, provider) or None
        except (keyring.errors.KeyringError, OSError, RuntimeError):
            # No backend, locked, or its service is gone: then there is no key in it.
            return None

    def set(self, provider: str, key: str) -> None:
        """Store the key. Raises `MendableError` for one that is none, and where the keyring refuses."""
        import keyring.errors

        key = key.strip()
        if not usable(key):
            raise MendableError(
                "The key was not stored.",
                cause="It is empty, or holds characters that no key has.",
                next_step="Copy it again from the service's site.",
            )
        try:
            _keyring().set_password(SERVICE, provider, key)
        except (keyring.errors.KeyringError, OSError, RuntimeError) as error:
            raise _no_keyring("The key was not stored.") from error

    def delete(self, provider: str) -> None:
        """Forget the key; one that is not there is no error. Raises `MendableError`."""
        import keyring.errors

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
    return None, "missing" if needed else "none needed"


def usable(key: str) -> bool:
    """Whether `key` can be sent in a header."""
    return bool(key) and all("!" <= character <= "~" for character in key)


def _keyring() -> KeyringBackend:
    import keyring

    return keyring.get_keyring()


def _no_keyring(title: str) -> MendableError:
    return Unavailable(
        title,
        cause="The keyring of this system is missing, locked or refuses.",
        next_step="Unlock or install one, or set the key as an environment variable.",
    )
