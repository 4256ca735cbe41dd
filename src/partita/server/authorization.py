"""Authorization: verifies the signature of a request, and rejects writes with read-only access keys."""

from collections.abc import Mapping

from partita.dynamodb.decode import decode_request
from partita.dynamodb.exceptions import AccessDeniedException
from partita.dynamodb.operations import OPERATIONS, STATEMENTS, TARGETS, is_read
from partita.server.access_keys import Credential
from partita.server.signatures import SignatureVerifier, SignedRequest

ACCOUNT = "000000000000"


class Authorizer:
    """Checks requests; raises DynamoDB's error for one that is not allowed."""

    def __init__(self, credentials: Mapping[str, Credential]) -> None:
        self._signatures = SignatureVerifier(credentials)

    def check_headers(self, request: SignedRequest) -> None:
        """Checks what can be checked before the body is read."""
        self._signatures.check_headers(request)

    def authenticate(self, request: SignedRequest) -> Credential:
        return self._signatures.verify(request)

    def authorize(self, credential: Credential, target: str, body: bytes) -> None:
        """Checks that the key may do the operation; `body` is decompressed, for the PartiQL statements in it."""
        name = TARGETS.get(target)
        if name is None or not credential.read_only or not OPERATIONS[name].writes:
            return
        if OPERATIONS[name].request in STATEMENTS and is_read(decode_request(name, body)):
            return
        raise AccessDeniedException(
            f"User: arn:aws:iam::{ACCOUNT}:user/{credential.key_id} is not authorized to perform: dynamodb:{name} "
            "because no identity-based policy allows it: its access key may only read"
        )
