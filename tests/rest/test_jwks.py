"""Key sets are reloaded for an unknown key and when they are old, and no request waits for it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from partita.errors import ConfigurationError
from partita.rest import Problem
from partita.rest.auth.identity import Verifier
from partita.rest.auth.jwks import MAX_AGE_SECONDS, UNKNOWN_KEY_RETRY_SECONDS, JsonWebKeySet, Keys, keys_of
from tests.rest.tokens import AUDIENCE, ISSUER, bearer, jwk, signed


@dataclass
class Issuer:
    """Publishes keys; a reload waits until `answer`. The test moves the clock."""

    published: list[str] | None = field(default_factory=lambda: ["RS256"])  # None: nothing can be read
    now: float = 0.0
    reads: int = 0
    waiting: list[Callable[[], None]] = field(default_factory=list)

    def read(self) -> Keys:
        self.reads += 1
        if self.published is None:
            raise ConfigurationError("the issuer is away")
        return keys_of({"keys": [jwk(each) for each in self.published]})

    def answer(self) -> None:
        while self.waiting:
            self.waiting.pop()()

    def later(self, seconds: float) -> None:
        self.now += seconds + 1

    def verifier(self) -> Verifier:
        return Verifier(JsonWebKeySet(self.read, self.waiting.append, lambda: self.now), ISSUER, AUDIENCE)


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
def verifier(issuer: Issuer) -> Verifier:
    return issuer.verifier()


def _rejection(verifier: Verifier, algorithm: str, **changed: Any) -> tuple[int, str]:
    with pytest.raises(Problem) as rejected:
        verifier.caller(bearer(signed(algorithm, **changed)))
    return rejected.value.status, rejected.value.detail


LOOKED_UP = (503, "the key that signed the token is being looked up")
IN_DOUBT = (503, "the key that signed the token cannot be looked up at the moment")
UNKNOWN = (401, "the token is signed by a key that is not in the key set")


def test_new_key_is_loaded_once(issuer: Issuer, verifier: Verifier) -> None:
    issuer.published = ["RS256", "ES256"]
    issuer.later(UNKNOWN_KEY_RETRY_SECONDS)
    assert _rejection(verifier, "ES256") == LOOKED_UP
    assert verifier.caller(bearer(signed("RS256"))).id == "ana"
    issuer.answer()
    assert verifier.caller(bearer(signed("ES256"))).id == "ana"


def test_unpublished_key_is_401_after_a_reload(issuer: Issuer, verifier: Verifier) -> None:
    issuer.later(UNKNOWN_KEY_RETRY_SECONDS)
    assert _rejection(verifier, "ES256") == LOOKED_UP
    issuer.answer()
    assert _rejection(verifier, "ES256") == UNKNOWN


def test_unknown_keys_reload_the_set_at_most_once_a_minute(issuer: Issuer, verifier: Verifier) -> None:
    assert _rejection(verifier, "ES256") == UNKNOWN  # the set was read just now
    issuer.later(UNKNOWN_KEY_RETRY_SECONDS)
    assert {_rejection(verifier, "RS256", kid=f"k{number}") for number in range(20)} == {LOOKED_UP}
    issuer.answer()
    assert {_rejection(verifier, "RS256", kid=f"k{number}") for number in range(20)} == {UNKNOWN}
    assert issuer.reads == 2
    issuer.later(UNKNOWN_KEY_RETRY_SECONDS)
    assert _rejection(verifier, "ES256") == LOOKED_UP
    issuer.answer()
    assert issuer.reads == 3


def test_token_without_a_key_id_reloads_nothing(issuer: Issuer, verifier: Verifier) -> None:
    issuer.later(UNKNOWN_KEY_RETRY_SECONDS)
    for header in (b"Bearer x", b"Basic YTpi"):
        with pytest.raises(Problem):
            verifier.caller(header)
    assert verifier.caller(None).id is None
    assert issuer.waiting == []


def test_failed_reload_keeps_the_keys_and_logs_one_line(
    issuer: Issuer, verifier: Verifier, caplog: pytest.LogCaptureFixture
) -> None:
    issuer.published = None
    issuer.later(UNKNOWN_KEY_RETRY_SECONDS)
    assert _rejection(verifier, "ES256") == LOOKED_UP
    issuer.answer()
    assert caplog.messages == ["the key set could not be reloaded, its last keys stay in use: the issuer is away"]
    assert verifier.caller(bearer(signed("RS256"))).id == "ana"


def test_unknown_key_is_503_while_the_set_cannot_be_read(issuer: Issuer, verifier: Verifier) -> None:
    """A client that gets 401 discards a token that may be valid."""
    issuer.published = None
    issuer.later(UNKNOWN_KEY_RETRY_SECONDS)
    _rejection(verifier, "ES256")
    issuer.answer()
    assert _rejection(verifier, "ES256") == IN_DOUBT
    issuer.published = ["ES256"]
    issuer.later(UNKNOWN_KEY_RETRY_SECONDS)
    assert _rejection(verifier, "ES256") == LOOKED_UP
    issuer.answer()
    assert verifier.caller(bearer(signed("ES256"))).id == "ana"


def test_unknown_key_is_503_after_a_failed_reload(issuer: Issuer, verifier: Verifier) -> None:
    issuer.published = ["no such algorithm"]
    issuer.later(UNKNOWN_KEY_RETRY_SECONDS)
    _rejection(verifier, "ES256")
    with pytest.raises(KeyError):
        issuer.answer()
    assert _rejection(verifier, "ES256") == IN_DOUBT


def test_old_set_is_reloaded_although_every_token_is_cached(issuer: Issuer, verifier: Verifier) -> None:
    header = bearer(signed("RS256"))
    for hour in range(1, 4):
        for _ in range(5):
            assert verifier.caller(header).id == "ana"
        assert issuer.reads == hour
        issuer.later(MAX_AGE_SECONDS)
        assert verifier.caller(header).id == "ana"
        issuer.answer()


def test_token_of_a_revoked_key_is_rejected_after_a_reload(issuer: Issuer, verifier: Verifier) -> None:
    header = bearer(signed("RS256"))
    assert verifier.caller(header).id == "ana"
    issuer.published = ["ES256"]
    issuer.later(MAX_AGE_SECONDS)
    assert verifier.caller(header).id == "ana"
    issuer.answer()
    assert _rejection(verifier, "RS256") == UNKNOWN
    with pytest.raises(Problem):
        verifier.caller(header)


@pytest.mark.parametrize(
    "odd",
    [5, None, {}, {"kty": "RSA"}, {"kty": []}, {"kty": "RSA", "alg": 7}, jwk("RS256", kid=[]), jwk("RS256", n="AQAB")],
    ids=["number", "null", "empty", "bare", "kty", "alg", "kid", "n"],
)
def test_unusable_key_does_not_hide_the_others(odd: Any) -> None:
    assert list(keys_of({"keys": [odd, jwk("ES256")]})) == ["ES256"]
    with pytest.raises(ConfigurationError):
        keys_of({"keys": [odd]})
