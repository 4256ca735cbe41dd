"""Signatures: requests signed by botocore are accepted, all others get DynamoDB's errors."""

import gzip
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from partita.dynamodb.exceptions import (
    AccessDeniedException,
    DynamoDBError,
    MissingAuthenticationToken,
)
from partita.errors import ConfigurationError
from partita.server.access_keys import Credential, load_credentials
from partita.server.authorization import Authorizer
from partita.server.signatures import UNSIGNED, SignatureVerifier, SignedRequest

SECRET = "a secret of some length"
TOKEN = "a session/token+with==signs"
KEYS = {
    "AKIAWRITES": Credential("AKIAWRITES", SECRET),
    "AKIAREADS": Credential("AKIAREADS", SECRET, read_only=True),
    "ASIATOKEN": Credential("ASIATOKEN", SECRET, session_token=TOKEN),
}
BODY = b'{"TableName": "notes"}'


def signed(
    key: str = "AKIAWRITES",
    secret: str = SECRET,
    token: str | None = None,
    body: bytes = BODY,
    headers: dict[str, str] | None = None,
    query: str = "",
    service: str = "dynamodb",
) -> SignedRequest:
    """A request as it arrives, signed by botocore now."""
    asked = {"X-Amz-Target": "DynamoDB_20120810.DescribeTable", "Content-Type": "application/x-amz-json-1.0"}
    request = AWSRequest("POST", f"http://localhost:8000/{query}", headers=asked | (headers or {}), data=body)
    SigV4Auth(Credentials(key, secret, token), service, "eu-west-1").add_auth(request)
    prepared = request.prepare()
    sent = [(name.encode(), _bytes(value)) for name, value in prepared.headers.items()]
    return SignedRequest.of("POST", "/", query.lstrip("?"), [*sent, (b"host", b"localhost:8000")], body)


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


def changed(request: SignedRequest, **members: object) -> SignedRequest:
    """The same request, changed in transit."""
    parts: dict[str, object] = {
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "headers": request.headers,
        "body": request.body,
    }
    return SignedRequest(**(parts | members))  # type: ignore[arg-type]


def with_headers(request: SignedRequest, **headers: str) -> SignedRequest:
    renamed = {name.replace("_", "-"): value for name, value in headers.items()}
    return changed(request, headers={**request.headers, **renamed})


def verifier(request: SignedRequest, minutes_later: int = 0) -> SignatureVerifier:
    """A verifier whose clock shows when the request was signed, or some minutes later.

    Requests are signed when tests are collected, which may be long before they are run.
    """
    signed_at = datetime.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return SignatureVerifier(KEYS, lambda: signed_at + timedelta(minutes=minutes_later))


def error_message(request: SignedRequest, minutes_later: int = 0) -> str:
    with pytest.raises(DynamoDBError) as caught:
        verifier(request, minutes_later).verify(request)
    assert caught.value.status == 400
    return f"{caught.value.code}: {caught.value.message}"


@pytest.mark.parametrize(
    "request_",
    [
        signed(),
        signed("AKIAREADS"),
        signed("ASIATOKEN", token=TOKEN),
        signed(body=b""),
        signed(body=gzip.compress(BODY), headers={"Content-Encoding": "gzip"}),
        signed(query="?b=2&a=1%20x&empty="),
        signed(headers={"X-Amz-Meta": "  several   spaces "}),
    ],
)
def test_request_signed_by_botocore_is_accepted(request_: SignedRequest) -> None:
    assert verifier(request_).verify(request_).key_id in KEYS


def test_unsigned_payload_is_accepted_when_its_header_is_signed() -> None:
    request = signed(headers={"X-Amz-Content-SHA256": UNSIGNED})
    assert verifier(request).verify(changed(request, body=b"anything")).key_id == "AKIAWRITES"


_MISMATCH = "InvalidSignatureException: The request signature we calculated does not match"


@pytest.mark.parametrize(
    "request_",
    [
        signed(secret="another secret of some length"),
        changed(signed(), body=BODY + b" "),
        changed(signed(), path="/other"),
        changed(signed(), query="a=1"),
        changed(signed(), method="PUT"),
        with_headers(signed(), x_amz_target="DynamoDB_20120810.DeleteTable"),
        with_headers(signed(), host="elsewhere:8000"),
        with_headers(signed(headers={"X-Amz-Content-SHA256": "0" * 64}), x_amz_content_sha256=UNSIGNED),
    ],
)
def test_changed_request_is_rejected(request_: SignedRequest) -> None:
    assert error_message(request_).startswith(_MISMATCH)


@pytest.mark.parametrize(
    "request_",
    [
        signed("AKIANOBODY"),
        signed("ASIATOKEN"),
        signed("ASIATOKEN", token="another token"),
        signed("AKIAWRITES", token=TOKEN),
    ],
)
def test_unknown_key_and_wrong_token_have_the_same_error(request_: SignedRequest) -> None:
    assert error_message(request_) == (
        "UnrecognizedClientException: The security token included in the request is invalid."
    )


def test_unsigned_amz_header_is_rejected() -> None:
    assert "'x-amz-content-sha256' must be a 'SignedHeader'" in error_message(
        with_headers(signed(), x_amz_content_sha256=UNSIGNED)
    )


def test_second_target_header_breaks_the_signature() -> None:
    request = signed()
    doubled = SignedRequest.of(
        "POST",
        "/",
        "",
        [
            *((name.encode(), value.encode()) for name, value in request.headers.items()),
            (b"x-amz-target", b"DynamoDB_20120810.DeleteTable"),
        ],
        BODY,
    )
    assert error_message(doubled).startswith(_MISMATCH)


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (16, "InvalidSignatureException: Signature expired: "),
        (-16, "InvalidSignatureException: Signature not yet current: "),
    ],
)
def test_clock_may_differ_by_fifteen_minutes(minutes: int, words: str) -> None:
    request = signed()
    for within in (14, -14):
        assert verifier(request, within).verify(request).key_id == "AKIAWRITES"
    assert error_message(request, minutes).startswith(words)


def test_request_without_a_signature_is_rejected() -> None:
    request = signed()
    bare = changed(request, headers={"host": "localhost:8000"})
    with pytest.raises(MissingAuthenticationToken, match="Request is missing Authentication Token"):
        SignatureVerifier(KEYS).verify(bare)
    assert error_message(with_headers(request, authorization="Bearer abc")).startswith("MissingAuthenticationToken")


@pytest.mark.parametrize(
    ("authorization", "words"),
    [
        (
            "AWS4-",
            (
                "IncompleteSignatureException: Authorization header requires 'Credential' parameter. "
                "Authorization header requires 'Signature' parameter. "
                "Authorization header requires 'SignedHeaders' parameter. Authorization=AWS4-"
            ),
        ),
        (
            "AWS4-HMAC-SHA256 Signature=b, Credential=a",
            "IncompleteSignatureException: Authorization header requires 'SignedHeaders' parameter. Authorization=AWS4",
        ),
        (
            "AWS4-HMAC-SHA256 Signature=b, Credential=a, SignedHeaders=host",
            "IncompleteSignatureException: Credential must have at least 5 slash-delimited elements",
        ),
        (
            "AWS4-HMAC-SHA512 Signature=b, Credential=a/b/c/d/e, SignedHeaders=host",
            "IncompleteSignatureException: Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA512'.",
        ),
        (
            "AWS4-HMAC-SHA256 Signature=b, Credential=a/20260101/r/dynamodb/aws4_request, SignedHeaders=date",
            "InvalidSignatureException: 'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.",
        ),
        (
            "AWS4-HMAC-SHA256 Signature=b, Credential=a/20260101/r/dynamodb/aws5, SignedHeaders=host",
            "InvalidSignatureException: Credential should be scoped with a valid terminator: 'aws4_request'",
        ),
    ],
)
def test_incomplete_authorization_header_is_rejected(authorization: str, words: str) -> None:
    assert error_message(with_headers(signed(), authorization=authorization)).startswith(words)


def test_signature_for_another_service_or_day_is_rejected() -> None:
    assert error_message(signed(service="s3")) == (
        "InvalidSignatureException: Credential should be scoped to correct service: 'dynamodb'. "
    )
    request = signed()
    other_day = re.sub(r"/\d{8}/", "/20200101/", request.headers["authorization"])
    assert "Date in Credential scope does not match" in error_message(with_headers(request, authorization=other_day))


def test_signature_in_both_header_and_query_is_rejected() -> None:
    assert "Found both 'X-Amz-Algorithm'" in error_message(signed(query="?X-Amz-Algorithm=AWS4-HMAC-SHA256"))


# Permission -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "body", "allowed"),
    [
        ("DynamoDB_20120810.GetItem", b"{}", True),
        ("DynamoDB_20120810.ListTagsOfResource", b"{}", True),
        ("DynamoDBStreams_20120810.GetRecords", b"{}", True),
        ("DynamoDB_20120810.PutItem", b"{}", False),
        ("DynamoDB_20120810.TransactWriteItems", b"{}", False),
        ("DynamoDB_20120810.CreateTable", b"{}", False),
        ("DynamoDB_20120810.TagResource", b"{}", False),
        ("DynamoDB_20120810.ExecuteStatement", b'{"Statement": " -- read\\nselect * FROM t"}', True),
        ("DynamoDB_20120810.ExecuteStatement", b'{"Statement": "DELETE FROM t WHERE a = 1"}', False),
        ("DynamoDB_20120810.ExecuteStatement", b'{"Statement": "/* SELECT */ DELETE FROM t WHERE a = 1"}', False),
        ("DynamoDB_20120810.ExecuteTransaction", b'{"TransactStatements": [{"Statement": "SELECT * FROM t"}]}', True),
        (
            "DynamoDB_20120810.BatchExecuteStatement",
            b'{"Statements": [{"Statement": "SELECT * FROM t"}, {"Statement": "DELETE FROM t WHERE a = 1"}]}',
            False,
        ),
        ("DynamoDB_20120810.BatchExecuteStatement", b'{"Statements": []}', False),
    ],
)
def test_read_only_key_cannot_write(operation: str, body: bytes, allowed: bool) -> None:
    guard = Authorizer(KEYS)
    guard.authorize(KEYS["AKIAWRITES"], operation, body)
    if allowed:
        guard.authorize(KEYS["AKIAREADS"], operation, body)
    else:
        with pytest.raises(AccessDeniedException, match="AKIAREADS is not authorized to perform: dynamodb:"):
            guard.authorize(KEYS["AKIAREADS"], operation, body)


# The file -------------------------------------------------------------------------------------------------------


def test_credentials_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(f'[keys.A]\nsecret = "{SECRET}"\n\n[keys.B]\nsecret = "{SECRET}"\nread_only = true\n')
    assert load_credentials(path) == {"A": Credential("A", SECRET), "B": Credential("B", SECRET, read_only=True)}
    assert SECRET not in repr(load_credentials(path))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "keys"),
        ("[keys]", "no access key"),
        ("[keys.A]\n", "secret"),
        ('[keys.A]\nsecret = "short"', "keys.A: a secret must have at least 16 characters"),
        (f'[keys.A]\nsecret = "{SECRET}"\nreadonly = true', "readonly"),
        ("keys = ", "Invalid value"),
    ],
)
def test_invalid_credentials_file_is_rejected(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=words):
        load_credentials(path)
    with pytest.raises(ConfigurationError, match="No such file"):
        load_credentials(tmp_path / "absent.toml")


def test_credentials_are_read_from_the_environment() -> None:
    environ = {"PARTITA_ACCESS_KEYS": f"A:{SECRET}, B:{SECRET}:with a colon,"}
    found = {"A": Credential("A", SECRET), "B": Credential("B", f"{SECRET}:with a colon")}
    assert load_credentials(None, environ) == found
    assert load_credentials(None, {}) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no access key; write ID:SECRET"),
        (" , ", "no access key"),
        (SECRET, "not an access key; write ID:SECRET"),
        (f":{SECRET}", "not an access key"),
        ("A:short", "keys.A: a secret must have at least 16 characters"),
    ],
)
def test_invalid_credentials_in_the_environment_are_rejected_without_showing_them(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as raised:
        load_credentials(None, {"PARTITA_ACCESS_KEYS": text})
    assert str(raised.value).startswith("PARTITA_ACCESS_KEYS: ")
    assert SECRET not in str(raised.value)
