"""Tokens signed by a key of the key set identify the caller; all others are rejected."""

import base64
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from partita.errors import ConfigurationError
from partita.rest import Problem
from partita.rest.auth.dev_issuer import LocalIssuer
from partita.rest.auth.identity import GROUPS, Verifier
from partita.rest.auth.jwks import JsonWebKeySet, keys_of
from tests.rest.client import Client
from tests.rest.tokens import AUDIENCE, ISSUER, KEY_SET, KEYS, bearer, signed


@pytest.fixture
def verifier() -> Verifier:
    return Verifier(JsonWebKeySet(lambda: keys_of(KEY_SET)), ISSUER, AUDIENCE)


def _rejection(verifier: Verifier, header: bytes) -> str:
    with pytest.raises(Problem) as rejected:
        verifier.caller(header)
    assert rejected.value.status == 401
    return rejected.value.detail


@pytest.mark.parametrize("algorithm", list(KEYS))
def test_token_of_a_known_key_identifies_the_caller(verifier: Verifier, algorithm: str) -> None:
    caller = verifier.caller(bearer(signed(algorithm)))
    assert (caller.id, caller.groups) == ("ana", frozenset({"admin"}))


def test_ids_in_other_unicode_forms_are_the_same_caller(verifier: Verifier, anonymous: Client) -> None:
    assert verifier.caller(bearer(signed(sub="Jose\u0301"))).id == "Jos\u00e9"
    for subject, name in [("Jose\u0301", "Jos\u00e9"), ("Jos\u00e9", "Jose\u0301"), ("Jose\u0301", "Jose\u0301")]:
        assert anonymous.by(subject).get(f"/people/{name}/notes").status == 200
    made = anonymous.by("Jose\u0301").post("/notes", {"noteId": "n", "title": "t"})
    assert made.json["ownerId"] == "Jos\u00e9"
    assert anonymous.by("Jos\u00e9").patch("/notes/n", {"text": "x"}).status == 200


def test_caller_without_a_token_is_anonymous(verifier: Verifier) -> None:
    assert verifier.caller(None).id is None
    with pytest.raises(Problem):
        _ = verifier.caller(None).name


def test_cognito_access_token_names_its_client(verifier: Verifier) -> None:
    assert verifier.caller(bearer(signed(aud=None, client_id=AUDIENCE))).id == "ana"
    assert verifier.caller(bearer(signed(aud=["another", AUDIENCE]))).id == "ana"


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": 1_000_000_000},
        {"exp": None},
        {"exp": "soon"},
        {"exp": 10**400},
        {"exp": float("inf")},
        {"exp": float("nan")},
        {"exp": [4_000_000_000]},
        {"nbf": 10**400},
        {"iat": 10**400},
        {"nbf": 4_000_000_000},
        {"iss": "https://other.example"},
        {"iss": None},
        {"aud": "another"},
        {"aud": None},
        {"sub": None},
        {"sub": ""},
        {"sub": "a\ud800"},
        {GROUPS: "admin"},
        {GROUPS: {"admin": True}},
    ],
    ids=str,
)
def test_token_with_wrong_claims_is_rejected(verifier: Verifier, changed: dict[str, Any]) -> None:
    assert _rejection(verifier, bearer(signed(**changed)))


def test_token_of_an_unknown_key_is_rejected(verifier: Verifier) -> None:
    assert "not in the key set" in _rejection(verifier, bearer(signed(kid="other")))
    assert _rejection(verifier, bearer(signed(key=rsa.generate_private_key(65537, 2048))))


def test_token_without_a_key_id_is_rejected(verifier: Verifier) -> None:
    unnamed = jwt.encode({"sub": "ana", "exp": time.time() + 60}, KEYS["RS256"], algorithm="RS256")
    assert "does not name the key" in _rejection(verifier, bearer(unnamed))


def _part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize("algorithm", ["none", "None", "HS256", "ES256", "EdDSA", "PS256", "", None, 7])
def test_algorithm_is_the_keys_own_and_not_the_tokens(verifier: Verifier, algorithm: Any) -> None:
    """An unsigned token, or one signed with the public key as a shared secret, is rejected."""
    claims = {"sub": "ana", "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 60}
    for signature in ("", "AAAA"):
        token = f"{_part({'alg': algorithm, 'typ': 'JWT', 'kid': 'RS256'})}.{_part(claims)}.{signature}"
        assert _rejection(verifier, bearer(token))


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"Bearer",
        b"Bearer ",
        b"Basic YTpi",
        b"Bearer x",
        b"Bearer a.b.c",
        b"\xff\xfe",
        b"Bearer \xe9.\xe9.\xe9",
        b"Bearer " + base64.b64encode(b"[" * 30_000) + b".e30.e30",
    ],
)
def test_header_without_a_bearer_token_is_rejected(verifier: Verifier, header: bytes) -> None:
    assert _rejection(verifier, header)


def test_changed_token_is_rejected(verifier: Verifier) -> None:
    head, body, signature = signed().split(".")
    forged = _part({"sub": "admin", "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 60})
    assert body != forged
    assert _rejection(verifier, bearer(f"{head}.{forged}.{signature}"))


def test_cached_token_expires() -> None:
    now = time.time()
    moving = Verifier(JsonWebKeySet(lambda: keys_of(KEY_SET)), ISSUER, AUDIENCE, clock=lambda: now)
    header = bearer(signed(exp=time.time() - 10))  # within the leeway
    assert moving.caller(header).id == "ana"
    assert len(moving._verified_tokens) == 1
    expired = bearer(signed(exp=time.time() - 40))
    moving._verified_tokens[expired] = (now - 1, moving._key_set.keys, moving.caller(header))
    assert "expired" in _rejection(moving, expired)


def test_token_cache_is_bounded(verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partita.rest.auth.identity.MAX_CACHED_TOKENS", 3)
    for number in range(6):
        verifier.caller(bearer(signed("EdDSA", sub=f"u{number}")))
    assert len(verifier._verified_tokens) == 3


def test_tokens_of_the_local_issuer_are_valid_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    token = LocalIssuer(file).token("ana", ("admin",), email_verified=True)
    caller = LocalIssuer(file).verifier().caller(bearer(token))
    assert (caller.id, caller.claims["email_verified"]) == ("ana", True)
    assert file.stat().st_mode & 0o077 == 0
    assert LocalIssuer(file).key_set == LocalIssuer(file).key_set != LocalIssuer().key_set
    _rejection(LocalIssuer().verifier(), bearer(token))


def test_key_file_that_is_created_concurrently_has_one_key(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    with ThreadPoolExecutor(8) as pool:
        keys = {str(each) for each in pool.map(lambda _: LocalIssuer(file).key_set, range(8))}
    assert len(keys) == 1
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("text", [b"", b"not a key"])
def test_file_that_is_not_a_key_is_not_overwritten(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "key.pem"
    file.write_bytes(text)
    with pytest.raises(ConfigurationError, match="not an Ed25519 private key"):
        LocalIssuer(file)
    assert file.read_bytes() == text


def test_invalid_token_is_rejected_on_public_routes(anonymous: Client) -> None:
    rejected = anonymous.get("/search?words=x", authorization="Bearer x")
    assert (rejected.status, rejected.headers["www-authenticate"]) == (401, "Bearer")
    assert anonymous.get("/search?words=x").status == 200


def test_rules_are_enforced_and_named_in_errors(anonymous: Client, ana: Client, bob: Client) -> None:
    """Only the owner sees a closed note; everyone reads an open one, and only its owner changes it."""
    ana.post("/notes", {"noteId": "open", "title": "o"})
    ana.post("/notes", {"noteId": "closed", "title": "c", "isOpen": False})
    asked = {
        "nobody": [anonymous.get(f"/notes/{name}").status for name in ("open", "closed", "none")],
        "bob": [bob.get(f"/notes/{name}").status for name in ("open", "closed", "none")],
        "ana": [ana.get(f"/notes/{name}").status for name in ("open", "closed", "none")],
        "admin": [anonymous.by("x", "admin").get(f"/notes/{name}").status for name in ("open", "closed", "none")],
    }
    assert asked == {
        "nobody": [200, 404, 404],
        "bob": [200, 404, 404],
        "ana": [200, 200, 404],
        "admin": [200, 200, 404],
    }
    for who, status in ((anonymous, 401), (bob, 403), (ana, 200)):
        assert who.patch("/notes/open", {"text": "x"}).status == status
    assert anonymous.patch("/notes/none", {"text": "x"}).status == 401
    assert "ownerId" in bob.patch("/notes/open", {"text": "x"}).json["detail"]
