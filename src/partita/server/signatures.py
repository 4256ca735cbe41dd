"""Verifies Signature Version 4, which every AWS SDK signs with; an invalid signature raises DynamoDB's error.

    canonical request   method, path, query, the signed headers, the body's hash
    string to sign      algorithm, time, scope (date/region/dynamodb/aws4_request), hash of the canonical request
    signing key         HMAC of the scope's parts, one after the other, starting from the secret
    signature           HMAC of the string to sign; compared in constant time

Source: AWS General Reference, "Create a signed AWS API request". The messages are the service's.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from urllib.parse import parse_qsl, quote

from partita.dynamodb.exceptions import (
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationToken,
    UnrecognizedClientException,
)
from partita.server.access_keys import Credential

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
SKEW = timedelta(minutes=15)

_PARAMETER = re.compile(r"(Credential|SignedHeaders|Signature)=([^,\s]+)")
_TIME = "%Y%m%dT%H%M%SZ"
_MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details."
)

Headers = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """The parts of a request that a signature covers; `body` is as it was sent, compressed or not."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes

    @classmethod
    def of(cls, method: str, path: str, query: str, headers: Headers, body: bytes) -> "SignedRequest":
        """Joins repeated headers with commas, as they are signed."""
        joined: dict[str, str] = {}
        for raw_name, raw_value in headers:
            name, value = raw_name.decode("latin-1").lower(), " ".join(raw_value.decode("latin-1").split())
            joined[name] = f"{joined[name]},{value}" if name in joined else value
        return cls(method, path, query, joined, body)


@dataclass(frozen=True, slots=True)
class _Authorization:
    key_id: str
    date: str
    region: str
    service: str
    terminator: str
    signed: list[str]
    signature: str

    @property
    def scope(self) -> str:
        return f"{self.date}/{self.region}/{self.service}/{self.terminator}"


class SignatureVerifier:
    """Verifies requests against a set of credentials."""

    def __init__(
        self, credentials: Mapping[str, Credential], clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._credentials = credentials
        self._clock = clock

    def verify(self, request: SignedRequest) -> Credential:
        """Returns the credential that signed a request; raises DynamoDB's error for an invalid signature."""
        authorization, credential = self.check_headers(request)
        expected = _signature(credential, authorization, request)
        if not hmac.compare_digest(expected.encode(), authorization.signature.encode("latin-1", "replace")):
            raise InvalidSignatureException(_MISMATCH)
        return credential

    def check_headers(self, request: SignedRequest) -> tuple[_Authorization, Credential]:
        """Checks everything but the signature: a request without a known key is rejected before its body is read."""
        header = request.headers.get("authorization", "")
        if "x-amz-algorithm" in request.query.lower() and header:
            raise InvalidSignatureException(
                "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
            )
        if not header.startswith("AWS4-"):
            raise MissingAuthenticationToken()
        authorization = _authorization(header, request)
        _check_scope(authorization)
        _check_signed(authorization, request)
        self._check_time(authorization, request)
        credential = self._credentials.get(authorization.key_id)
        if credential is None or not _same_token(credential, request):
            raise UnrecognizedClientException()
        return authorization, credential

    def _check_time(self, authorization: _Authorization, request: SignedRequest) -> None:
        text = _time_of(request)
        try:
            signed = datetime.strptime(text, _TIME).replace(tzinfo=UTC)
        except ValueError:
            raise IncompleteSignatureException(
                f"Date must be in ISO-8601 'basic format'. Got '{text}'. See http://en.wikipedia.org/wiki/ISO_8601"
            ) from None
        if text[:8] != authorization.date:
            raise InvalidSignatureException(
                "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
                f"'{authorization.date}' != '{text[:8]}', from '{text}'."
            )
        now = self._clock()
        if signed < now - SKEW:
            raise InvalidSignatureException(
                f"Signature expired: {text} is now earlier than {now - SKEW:{_TIME}} ({now:{_TIME}} - 15 min.)"
            )
        if signed > now + SKEW:
            raise InvalidSignatureException(
                f"Signature not yet current: {text} is still later than {now + SKEW:{_TIME}} ({now:{_TIME}} + 15 min.)"
            )


def _authorization(header: str, request: SignedRequest) -> _Authorization:
    algorithm = header.split(maxsplit=1)[0]
    found = dict(_PARAMETER.findall(header))
    missing = [
        f"Authorization header requires '{name}' parameter. "
        for name in ("Credential", "Signature", "SignedHeaders")
        if name not in found
    ]
    if not _time_of(request):
        missing.append("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ")
    if missing:
        raise IncompleteSignatureException(f"{''.join(missing)}Authorization={header}")
    if algorithm != ALGORITHM:
        raise IncompleteSignatureException(f"Unsupported AWS 'algorithm': '{algorithm}'. ")
    parts = found["Credential"].split("/")
    if len(parts) < 5:
        raise IncompleteSignatureException(
            "Credential must have at least 5 slash-delimited elements (e.g. keyid/date/region/service/term), "
            f"got '{found['Credential']}'"
        )
    date, region, service, terminator = parts[-4:]
    signed = found["SignedHeaders"].lower().split(";")
    return _Authorization("/".join(parts[:-4]), date, region, service, terminator, signed, found["Signature"])


def _time_of(request: SignedRequest) -> str:
    return request.headers.get("x-amz-date") or request.headers.get("date", "")


def _check_scope(authorization: _Authorization) -> None:
    if authorization.service != "dynamodb":
        raise InvalidSignatureException("Credential should be scoped to correct service: 'dynamodb'. ")
    if authorization.terminator != "aws4_request":
        raise InvalidSignatureException(
            f"Credential should be scoped with a valid terminator: 'aws4_request', not '{authorization.terminator}'. "
        )


def _check_signed(authorization: _Authorization, request: SignedRequest) -> None:
    """The host and every x-amz- header must be signed, or they could be changed in transit."""
    signed = authorization.signed
    if "host" not in signed:
        raise InvalidSignatureException("'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.")
    unsigned = [name for name in request.headers if name.startswith("x-amz-") and name not in signed]
    if unsigned:
        raise InvalidSignatureException(
            f"'{unsigned[0]}' must be a 'SignedHeader' in the AWS Authorization, as every x-amz- header."
        )


def _same_token(credential: Credential, request: SignedRequest) -> bool:
    given, wanted = request.headers.get("x-amz-security-token"), credential.session_token
    if given is None or wanted is None:
        return given is wanted
    return hmac.compare_digest(given.encode("latin-1"), wanted.encode())


def _signature(credential: Credential, authorization: _Authorization, request: SignedRequest) -> str:
    canonical = hashlib.sha256(_canonical(authorization.signed, request).encode()).hexdigest()
    to_sign = "\n".join((ALGORITHM, _time_of(request), authorization.scope, canonical))
    key = _signing_key(credential.secret, authorization.date, authorization.region, authorization.service)
    return hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()


def _canonical(signed: list[str], request: SignedRequest) -> str:
    headers = "".join(f"{name}:{request.headers.get(name, '')}\n" for name in signed)
    pairs = parse_qsl(request.query, keep_blank_values=True)
    query = "&".join(sorted(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in pairs))
    payload = request.headers.get("x-amz-content-sha256")
    if payload != UNSIGNED:
        payload = hashlib.sha256(request.body).hexdigest()
    path = quote(request.path, safe="/-_.~")
    return "\n".join((request.method, path, query, headers, ";".join(signed), payload))


@lru_cache(maxsize=1024)
def _signing_key(secret: str, date: str, region: str, service: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key
