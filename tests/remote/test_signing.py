"""Our signatures equal botocore's, for any request, keys, region, host and time."""

import datetime as dt
from collections.abc import Iterator
from unittest import mock

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials
from hypothesis import given
from hypothesis import strategies as st

from partita.remote.credentials import UNSIGNED, Credentials
from partita.remote.endpoints import RemoteEndpoint, endpoint_at
from partita.remote.signing import CONTENT_TYPE, Signer

DAY = 24 * 3600
WORDS = st.text("ABCabc019/+=", min_size=1, max_size=40)
TIMES = st.integers(0, 4_000_000_000)
TARGETS = st.sampled_from(["DynamoDB_20120810.GetItem", "DynamoDBStreams_20120810.GetRecords"])
ENDPOINTS = st.builds(
    RemoteEndpoint,
    scheme=st.sampled_from(["http", "https"]),
    host=st.sampled_from(["dynamodb.eu-west-1.amazonaws.com", "127.0.0.1", "::1", "streams.dynamodb.x.example"]),
    port=st.sampled_from([80, 443, 8000]),
    region=st.sampled_from(["us-east-1", "eu-west-1", "cn-north-1"]),
)
KEYS = st.builds(Credentials, WORDS, WORDS, st.none() | WORDS)


def botocore_authorization(keys: Credentials, endpoint: RemoteEndpoint, target: str, body: bytes, second: int) -> str:
    """Returns the Authorization header of botocore's signer at the same second."""
    request = AWSRequest(
        "POST",
        f"{endpoint.url}/",
        headers={"Host": endpoint.netloc, "Content-Type": CONTENT_TYPE, "X-Amz-Target": target},
        data=body,
    )
    now = dt.datetime.fromtimestamp(second, dt.UTC)
    theirs = SigV4Auth(ReadOnlyCredentials(keys.access_key, keys.secret_key, keys.token), "dynamodb", endpoint.region)
    with mock.patch("botocore.auth.get_current_datetime", return_value=now):
        theirs.add_auth(request)
    authorization: str = request.headers["Authorization"]
    return authorization


@given(ENDPOINTS, KEYS, TARGETS, st.binary(max_size=200), TIMES)
def test_signature_equals_botocores(
    endpoint: RemoteEndpoint, keys: Credentials, target: str, body: bytes, second: int
) -> None:
    headers = Signer(endpoint, lambda: second + 0.5).headers(keys, target, body)
    assert headers["Authorization"] == botocore_authorization(keys, endpoint, target, body, second)
    assert headers.get("X-Amz-Security-Token") == keys.token


@given(st.lists(st.tuples(KEYS, TIMES), min_size=2, max_size=8))
def test_signing_key_is_not_reused_for_another_day_or_secret(steps: list[tuple[Credentials, int]]) -> None:
    """One signer over several days and secrets: its cached key is used only for its own."""
    endpoint = endpoint_at("https://dynamodb.eu-west-1.amazonaws.com")
    times: Iterator[int] = iter([second for _, second in steps])
    signer = Signer(endpoint, lambda: next(times))
    for keys, second in steps:
        signed = signer.headers(keys, "DynamoDB_20120810.GetItem", b"{}")["Authorization"]
        assert signed == botocore_authorization(keys, endpoint, "DynamoDB_20120810.GetItem", b"{}", second)


@pytest.mark.parametrize("second", [DAY - 1, DAY])
def test_date_header_has_the_current_second(second: int) -> None:
    headers = Signer(endpoint_at("http://localhost:8000"), lambda: second).headers(UNSIGNED, "x", b"")
    assert headers["X-Amz-Date"] == {DAY - 1: "19700101T235959Z", DAY: "19700102T000000Z"}[second]


def test_unsigned_request_has_a_well_formed_signature() -> None:
    headers = Signer(endpoint_at("http://localhost:8000"), lambda: 0).headers(UNSIGNED, "x", b"")
    assert headers["Authorization"] == (
        "AWS4-HMAC-SHA256 Credential=partita/19700101/us-east-1/dynamodb/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=" + "0" * 64
    )


def test_secrets_are_not_in_repr() -> None:
    assert repr(Credentials("key", "secret", "token")) == "Credentials(access_key='key')"
