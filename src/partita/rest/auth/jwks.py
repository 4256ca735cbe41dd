"""The keys that tokens are verified with: a JSON Web Key Set, read again when it may have changed.

A token is verified on the server's event loop, which never waits for the network: a set at a URL is read again in a
thread of its own, and who comes with a key that is not known yet is asked to come again. That is why PyJWT's own
client, which reads where it is asked, is not used.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import jwt

from partita.errors import ConfigurationError
from partita.rest.problems import Problem

ALGORITHMS = ("RS256", "ES256", "EdDSA")
UNKNOWN_KEY_SECONDS = 60  # how often a key that is not in the set may have it read again
OLD_SECONDS = 3600  # how long a set is believed without being read again

Keys = dict[str, jwt.PyJWK]
Work = Callable[[], None]

_BEING_READ = "the key that signed the token is being looked up"
_UNREADABLE = "the key that signed the token cannot be looked up at the moment"
_log = logging.getLogger("partita.rest")


def keys_of(key_set: Any, where: str = "key set") -> Keys:
    """The keys of a JSON Web Key Set that may sign tokens, by their ids; `where` it is from, for who has to mend it."""
    try:
        found = jwt.PyJWKSet.from_dict(key_set).keys
    except (jwt.PyJWTError, AttributeError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{where}: not a JSON Web Key Set ({error})") from None
    named = [(key.key_id, key) for key in found if key.algorithm_name in ALGORITHMS]
    keys = {key_id: key for key_id, key in named if isinstance(key_id, str) and key_id}
    if not keys:
        raise ConfigurationError(f"{where}: no key with a `kid`, for one of {', '.join(ALGORITHMS)}")
    return keys


def at_once(work: Work) -> None:
    work()


def in_the_background(work: Work) -> None:
    """In a thread that ends with the process."""
    threading.Thread(target=work, name="partita-key-set", daemon=True).start()


class JsonWebKeySet:
    """The keys as they were last read; `begin` says where they are read again.

    `keys` is another object after each read: what was concluded from the earlier one can be told by that.
    """

    def __init__(
        self,
        read: Callable[[], Keys],
        begin: Callable[[Work], None] = at_once,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.keys = read()
        self._read = read
        self._begin = begin
        self._clock = clock
        self._begun_at = clock()
        self._doubt: str | None = None  # why a key that is not here may exist all the same

    def refresh(self) -> None:
        """Begins to read a set that is old, for a key may have been taken back."""
        self._read_if_older_than(OLD_SECONDS)

    def key(self, key_id: str) -> jwt.PyJWK:
        """The key of this id. One that is not known is looked up; while it may yet be found, the problem is 503."""
        if key_id not in self.keys:
            self._read_if_older_than(UNKNOWN_KEY_SECONDS)
        doubt = self._doubt  # looked at before the keys, since whoever reads them again changes it after them
        found = self.keys.get(key_id)
        if found is not None:
            return found
        if doubt is not None:
            raise Problem(503, "busy", doubt)
        raise Problem(401, "unauthorized", "the token is signed by a key that is not in the key set")

    def _read_if_older_than(self, seconds: float) -> None:
        now = self._clock()
        if now - self._begun_at > seconds:
            self._begun_at, self._doubt = now, _BEING_READ
            self._begin(self._read_again)

    def _read_again(self) -> None:
        doubt: str | None = _UNREADABLE
        try:
            self.keys = self._read()
            doubt = None
        except ConfigurationError as error:
            _log.error("the keys that were known are kept: %s", error)
        finally:
            self._doubt = doubt
