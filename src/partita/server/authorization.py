"""Who may do what: verifies a request's signature, and keeps those who may only read from writing."""

from collections.abc import Mapping

from partita.dynamodb.decode import decode_request
from partita.dynamodb.exceptions import AccessDeniedException
from partita.dynamodb.operations import OPERATIONS, STATEMENTS, TARGETS, is_read
from partita.server.access_keys import Credential
from partita.server.signatures import Signatures, SignedRequest

ACCOUNT = "000000000000"


class Authorizer:
    """Lets a request pass, or raises DynamoDB's error."""

    def __init__(self, credentials: Mapping[str, Credential]) -> None:
        self._signatures = Signatures(credentials)

    def check_signature(self, request: SignedRequest) -> Credential:
        return self._signatures.verified(request)

    def check_permission(self, credential: Credential, target: str, body: bytes) -> None:
        """`body` is the plain one: a statement says only there whether it writes."""
        name = TARGETS.get(target)
        if name is None or not credential.read_only or not OPERATIONS[name].writes:
            return
        if OPERATIONS[name].request in STATEMENTS and is_read(decode_request(name, body)):
            return
        raise AccessDeniedException(
            f"User: arn:aws:iam::{ACCOUNT}:user/{credential.key_id} is not authorized to perform: dynamodb:{name} "
            "because no identity-based policy allows it: its access key may only read"
        )
