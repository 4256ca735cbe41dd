"""DynamoDB's errors word for word: the code, the HTTP status and the members of each."""

from typing import Any, ClassVar

from partita.errors import PartitaError
from partita.wire.values import Item

_DYNAMODB = "com.amazonaws.dynamodb.v20120810#"
_CORAL_SERVICE = "com.amazon.coral.service#"
_CORAL_VALIDATE = "com.amazon.coral.validate#"


class DynamoDBError(PartitaError):
    """An answer of the DynamoDB contract; `code` is the name that every SDK shows."""

    code: ClassVar[str] = "InternalServerError"
    namespace: ClassVar[str] = _DYNAMODB
    status: ClassVar[int] = 400
    message_member: ClassVar[str] = "message"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def body(self) -> dict[str, Any]:
        """The JSON members of the error reply."""
        return {"__type": self.namespace + self.code, self.message_member: self.message}


class ValidationException(DynamoDBError):
    code = "ValidationException"
    namespace = _CORAL_VALIDATE


class RequestValidationException(ValidationException):
    """A fault that PutItem and UpdateItem, since 2026, report behind `1 validation error detected: `."""

    def enveloped(self) -> ValidationException:
        return ValidationException(f"1 validation error detected: {self.message}")


class SerializationException(DynamoDBError):
    code = "SerializationException"
    namespace = _CORAL_SERVICE
    message_member = "Message"


class UnknownOperationException(DynamoDBError):
    code = "UnknownOperationException"
    namespace = _CORAL_SERVICE

    def __init__(self) -> None:
        super().__init__("")

    def body(self) -> dict[str, Any]:
        return {"__type": self.namespace + self.code}


class MissingAuthenticationToken(DynamoDBError):
    code = "MissingAuthenticationTokenException"
    namespace = _CORAL_SERVICE

    def __init__(self) -> None:
        super().__init__("Request is missing Authentication Token")


class ResourceNotFoundException(DynamoDBError):
    code = "ResourceNotFoundException"


class ResourceInUseException(DynamoDBError):
    code = "ResourceInUseException"


class LimitExceededException(DynamoDBError):
    code = "LimitExceededException"


class IdempotentParameterMismatchException(DynamoDBError):
    code = "IdempotentParameterMismatchException"
    message_member = "Message"

    def __init__(self) -> None:
        super().__init__(
            "Requested parameters don't match the parameters of the earlier request with the same idempotent token"
        )


class ItemCollectionSizeLimitExceededException(DynamoDBError):
    code = "ItemCollectionSizeLimitExceededException"


class ThrottlingException(DynamoDBError):
    code = "ThrottlingException"


class InternalServerError(DynamoDBError):
    code = "InternalServerError"
    status = 500


class TrimmedDataAccessException(DynamoDBError):
    code = "TrimmedDataAccessException"


class ExpiredIteratorException(DynamoDBError):
    code = "ExpiredIteratorException"


class ConditionalCheckFailedException(DynamoDBError):
    """`item` is the item as it was, when the request asked for it."""

    code = "ConditionalCheckFailedException"

    def __init__(self, item: Item | None = None) -> None:
        super().__init__("The conditional request failed")
        self.item = item

    def body(self) -> dict[str, Any]:
        members = super().body()
        if self.item is not None:
            members["Item"] = self.item
        return members


class TransactionCanceledException(DynamoDBError):
    """`reasons` has one entry for each action, `{"Code": "None"}` where it was not the cause."""

    code = "TransactionCanceledException"
    message_member = "Message"

    def __init__(self, reasons: list[dict[str, Any]]) -> None:
        codes = ", ".join(reason["Code"] for reason in reasons)
        super().__init__(f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]")
        self.reasons = reasons

    def body(self) -> dict[str, Any]:
        return {**super().body(), "CancellationReasons": self.reasons}


TABLE_NOT_FOUND = "Requested resource not found"
INVALID = "One or more parameter values were invalid: "
