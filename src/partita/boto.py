"""boto3 without a network: a backend in this process answers clients of botocore and boto3.

botocore passes every request to listeners before it is sent (`before-send`), and takes the response of a listener
instead of the network's. So a client still does everything else itself (validation, serialization, waiters,
paginators, errors), and needs neither credentials nor a region nor a server.

    with partita.boto.embedded(backend):        code that creates its own clients, unchanged
        existing_code()
    partita.boto.client(backend)                one client
    partita.boto.session(backend)               a session, for clients and resources
"""

import inspect
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from partita.dynamodb.backend import Backend
from partita.dynamodb.decode import decode_request, error_body
from partita.dynamodb.exceptions import DynamoDBError, UnknownOperationException
from partita.dynamodb.operations import TARGETS
from partita.extras import needs

if TYPE_CHECKING:
    import boto3
    from botocore.awsrequest import AWSPreparedRequest, AWSResponse
    from mypy_boto3_dynamodb import DynamoDBClient, DynamoDBServiceResource
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

SERVICES = ("dynamodb", "dynamodbstreams")
_REGION = "us-east-1"

_blocks: list["_Block"] = []
_lock = threading.Lock()


@contextmanager
def embedded(backend: Backend) -> Iterator[Backend]:
    """Connects every DynamoDB client created in the block, in any thread, to the backend, also after the block.

    Clients created before the block, and clients of other services, are unaffected. Blocks nest: the innermost applies.
    """
    session_class = _botocore_session_class()
    block = _Block(backend)
    with _lock:
        if not _blocks:
            session_class.create_client = _patched(session_class.create_client)
        _blocks.append(block)
    try:
        yield backend
    finally:
        with _lock:
            _blocks.remove(block)
            if not _blocks:
                session_class.create_client = session_class.create_client.__wrapped__


def client(backend: Backend) -> "DynamoDBClient":
    """Returns a boto3 client that the backend answers."""
    return session(backend).client("dynamodb")


def resource(backend: Backend) -> "DynamoDBServiceResource":
    """Returns a boto3 resource that the backend answers."""
    return session(backend).resource("dynamodb")


def streams_client(backend: Backend) -> "DynamoDBStreamsClient":
    """Returns a boto3 client of the streams of the backend's tables."""
    return session(backend).client("dynamodbstreams")


def session(backend: Backend) -> "boto3.Session":
    """Returns a boto3 session whose DynamoDB clients and resources the backend answers."""
    with needs("partita.boto", "boto"):
        import boto3
    below = _botocore_session_class()()
    below.register_component("data_loader", _loader())
    create_client = type(below).create_client

    def create_embedded_client(*args: Any, **kwargs: Any) -> Any:
        return _create(create_client, backend, below, *args, **kwargs)

    below.create_client = create_embedded_client
    return boto3.Session(botocore_session=below)


class _Block:
    """An open `embedded` block; several may have the same backend."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend


def _patched(create_client: Callable[..., Any]) -> Any:
    def create_embedded_client(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _lock:
            block = _blocks[-1] if _blocks else None
        if block is None:  # the last block ended in another thread, between lookup and call
            return create_client(self, *args, **kwargs)
        return _create(create_client, block.backend, self, *args, **kwargs)

    create_embedded_client.__wrapped__ = create_client  # type: ignore[attr-defined]
    return create_embedded_client


def _create(create_client: Callable[..., Any], backend: Backend, session: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls `create_client`; a DynamoDB client gets the backend, and needs no credentials and no region."""
    from botocore import UNSIGNED
    from botocore.config import Config

    arguments = inspect.signature(create_client).bind(session, *args, **kwargs).arguments
    if arguments["service_name"] not in SERVICES:
        return create_client(session, *args, **kwargs)
    config: Any = arguments.get("config") or session.get_default_client_config() or Config()
    arguments["config"] = config.merge(Config(signature_version=UNSIGNED))
    if not (arguments.get("region_name") or config.region_name or session.get_config_variable("region")):
        arguments["region_name"] = _REGION
    arguments.pop("self", None)
    created = create_client(session, **arguments)
    created.meta.events.register("before-send", lambda request, **_: _answer(backend, request))
    return created


def _answer(backend: Backend, request: "AWSPreparedRequest") -> "AWSResponse":
    """The backend's response to a request, as botocore expects it from the network."""
    from botocore.awsrequest import AWSResponse

    try:
        operation = TARGETS.get(_text(request.headers["X-Amz-Target"]))
        if operation is None:
            raise UnknownOperationException()
        status, body = 200, msgspec.json.encode(backend.call(decode_request(operation, _bytes(request.body))))
    except DynamoDBError as error:
        status, body = error.status, error_body(error)
    headers: Any = {
        "Content-Type": "application/x-amz-json-1.0",
        "Content-Length": str(len(body)),
        "x-amzn-RequestId": secrets.token_hex(26).upper(),
    }
    return AWSResponse(request.url, status, headers, _Body(body))


class _Body:
    """A complete response body."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> Iterator[bytes]:
        yield self._content


def _text(header: str | bytes) -> str:
    return header if isinstance(header, str) else header.decode("latin-1")


def _bytes(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else bytes(body or b"")


@cache
def _loader() -> Any:
    """botocore's loader of service models, shared by sessions: each would read them again, which takes 50 ms."""
    return _botocore_session_class()().get_component("data_loader")


def _botocore_session_class() -> Any:
    with needs("partita.boto", "boto"):
        from botocore.session import Session
    return Session
