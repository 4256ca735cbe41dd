"""DynamoDB's protocol on the client's side: every operation has a wire format, every error reply raises its class."""

from binascii import crc32

import msgspec
import pytest

from partita.dynamodb import responses
from partita.dynamodb.decode import decode_request, error_body
from partita.dynamodb.exceptions import (
    BY_CODE,
    ConditionalCheckFailedException,
    DynamoDBError,
    InternalServerError,
    ServiceUnavailable,
    TransactionCanceledException,
    UnlistedError,
    ValidationException,
)
from partita.dynamodb.operations import OPERATIONS, TARGETS
from partita.dynamodb.requests import GetItem, ListTables
from partita.errors import NoReply
from partita.remote.protocol import body_of, error_of, reply_of, reply_type, wire_format

GET = GetItem(table_name="notes", key={"pk": {"S": "é"}})


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_has_a_target_and_a_reply_decoder(name: str) -> None:
    request = OPERATIONS[name].request
    form = wire_format(request)
    assert TARGETS[form.target] == name
    assert isinstance(form.reply.decode(b"{}"), reply_type(request))
    assert decode_request(name, body_of(request())) == request()


def test_request_is_encoded_without_absent_members() -> None:
    assert body_of(GET) == '{"TableName":"notes","Key":{"pk":{"S":"é"}}}'.encode()


def test_reply_is_unchanged_by_encoding_and_decoding() -> None:
    sent = responses.GetItemOutput(item=msgspec.Raw(b'{"pk":{"S":"a"}}'))
    body = msgspec.json.encode(sent)
    reply = reply_of(GET, "here", 200, {"x-amz-crc32": str(crc32(body))}, body)
    assert reply.item is not None
    assert bytes(reply.item) == b'{"pk":{"S":"a"}}'


def test_unknown_members_of_a_reply_are_ignored() -> None:
    assert reply_of(ListTables(), "here", 200, {}, b'{"TableNames":[],"New":{"a":1}}').table_names == []


def test_reply_of_the_wrong_type_raises_no_reply() -> None:
    with pytest.raises(NoReply, match="here: the reply is not a DynamoDB reply"):
        reply_of(ListTables(), "here", 200, {}, b'{"TableNames":1}')


@pytest.mark.parametrize("code", BY_CODE)
def test_error_reply_raises_its_class(code: str) -> None:
    sent = BY_CODE[code].from_body({}, "a message")
    came = error_of(sent.status, {}, error_body(sent))
    assert type(came) is BY_CODE[code]
    assert came.code == code
    assert came.message == ("" if code == "UnknownOperationException" else "a message")
    assert str(came) == came.message


def test_failed_condition_is_decoded_with_its_item() -> None:
    came = error_of(400, {}, error_body(ConditionalCheckFailedException({"pk": {"S": "a"}})))
    assert isinstance(came, ConditionalCheckFailedException)
    assert came.item == {"pk": {"S": "a"}}


def test_cancelled_transaction_is_decoded_with_its_reasons() -> None:
    sent = TransactionCanceledException([{"Code": "None"}, {"Code": "TransactionConflict", "Message": "busy"}])
    came = error_of(400, {}, error_body(sent))
    assert isinstance(came, TransactionCanceledException)
    assert (came.reasons, str(came)) == (sent.reasons, str(sent))


def test_error_classes_cover_what_clients_must_distinguish() -> None:
    assert BY_CODE["ValidationException"] is ValidationException
    assert BY_CODE.keys() >= {
        "ConditionalCheckFailedException",
        "IdempotentParameterMismatchException",
        "InternalServerError",
        "ItemCollectionSizeLimitExceededException",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ResourceInUseException",
        "ResourceNotFoundException",
        "ServiceUnavailable",
        "ThrottlingException",
        "TransactionCanceledException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, b'{"__type":"com.amazon.coral.service#NewException","message":"what"}'),
        ({}, b'{"__type":"NewException","Message":"what"}'),
        ({}, b'{"code":"NewException:http://where/it/is","message":"what"}'),
        ({"x-amzn-errortype": "NewException:http://where/it/is"}, b'{"message":"what"}'),
    ],
)
def test_unlisted_error_has_its_code(headers: dict[str, str], body: bytes) -> None:
    came = error_of(418, headers, body)
    assert isinstance(came, UnlistedError)
    assert (came.code, came.status, came.message) == ("NewException", 418, "what")
    assert DynamoDBError.code == "InternalServerError"


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (500, InternalServerError, "InternalServerError"),
        (502, ServiceUnavailable, "ServiceUnavailable"),
        (503, ServiceUnavailable, "ServiceUnavailable"),
        (504, ServiceUnavailable, "ServiceUnavailable"),
        (404, UnlistedError, "HTTP404"),
        (302, UnlistedError, "HTTP302"),
    ],
)
def test_error_page_of_a_proxy_is_named_after_its_status(status: int, kind: type, code: str) -> None:
    for body in (b"<html>no</html>", b"\xff", b"[]", b'{"__type":1}'):
        came = error_of(status, {}, body)
        assert type(came) is kind
        assert came.code == code
        assert came.message.startswith(f"HTTP status {status}: ")
    assert str(error_of(status, {}, b"")) == f"HTTP status {status}"
