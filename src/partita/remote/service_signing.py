"""Signature Version 4 for requests of any shape, to services of AWS other than DynamoDB."""

import hmac
import time
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import parse_qsl, quote

from partita.remote.credentials import CredentialSource
from partita.remote.signing import signing_key

_ALGORITHM = "AWS4-HMAC-SHA256"


class ServiceSigner:
    """Signs requests to one host of a service; safe to call from any thread."""

    def __init__(
        self,
        credentials: CredentialSource,
        host: str,
        region: str,
        service: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._credentials = credentials
        self._host = host
        self._region = region
        self._service = service
        self._clock = clock

    def headers(self, method: str, target: str, body: bytes) -> dict[str, str]:
        """The headers that a request needs beside its own; `target` is the path with the query, as it is sent."""
        credentials = self._credentials.current()
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self._clock()))
        digest = sha256(body).hexdigest()
        headers = {"Host": self._host, "X-Amz-Content-SHA256": digest, "X-Amz-Date": now}
        if credentials.token is not None:
            headers["X-Amz-Security-Token"] = credentials.token
        names = ";".join(name.lower() for name in headers)
        lines = "".join(f"{name.lower()}:{value}\n" for name, value in headers.items())
        path, _, query = target.partition("?")
        canonical = f"{method}\n{quote(path, safe='/~')}\n{_canonical(query)}\n{lines}\n{names}\n{digest}"
        scope = f"{now[:8]}/{self._region}/{self._service}/aws4_request"
        text = f"{_ALGORITHM}\n{now}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
        key = signing_key(credentials.secret_key, now[:8], self._region, self._service)
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        credential = f"Credential={credentials.access_key}/{scope}"
        headers["Authorization"] = f"{_ALGORITHM} {credential}, SignedHeaders={names}, Signature={signature}"
        return headers


def _canonical(query: str) -> str:
    """The parameters in their order, each encoded as signatures want it."""
    pairs = ((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in parse_qsl(query, True))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))
