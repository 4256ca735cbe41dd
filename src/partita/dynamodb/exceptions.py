"""DynamoDB's errors, word for word: code, HTTP status and members of each."""

import copy
from typing import Any, ClassVar, Self

from partita.dynamodb.values import Item
from partita.errors import PartitaError

_DYNAMODB = "com.amazonaws.dynamodb.v20120810#"
_CORAL_SERVICE = "com.amazon.coral.service#"
_CORAL_VALIDATE = "com.amazon.coral.validate#"


class DynamoDBError(PartitaError):
    """An error of the DynamoDB contract; `code` is the name that every SDK shows."""

    code: str = "InternalServerError"
    namespace: ClassVar[str] = _DYNAMODB
    status: int = 400
    message_member: ClassVar[str] = "message"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def body(self) -> dict[str, Any]:
        """The JSON members of the error response."""
        return {"__type": self.namespace + self.code, self.message_member: self.message}

    def with_message(self, message: str) -> Self:
        """The same error in other words, whatever arguments its class takes."""
        error = copy.copy(self)
        error.message, error.args = message, (message,)
        return error

    @classmethod
    def from_body(cls, members: dict[str, Any], message: str) -> Self:
        """The error in an error response: the inverse of `body`."""
        return cls._from_members(members, message).with_message(message)

    @classmethod
    def _from_members(cls, members: dict[str, Any], message: str) -> Self:
        return cls(message)


class UnlistedError(DynamoDBError):
    """An error whose code has no class here; `code` and `status` are the response's own."""

    def __init__(self, code: str, status: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class ValidationException(DynamoDBError):
    code = "ValidationException"
    namespace = _CORAL_VALIDATE


class RequestValidationException(ValidationException):
    """An error that PutItem, UpdateItem and (in part) Query report after `1 validation error detected: ` since 2026."""

    def with_prefix(self) -> ValidationException:
        return ValidationException(f"1 validation error detected: {self.message}")


class EmptyKeyValue(ValidationException):
    """An empty value of a key, of a table or an index: it fails a whole transaction, not one action of it."""


class NestingTooDeep(ValidationException):
    """A value with more levels of nesting than DynamoDB supports; its message never names the parameter."""


class ItemTooLarge(ValidationException):
    """A value with more members than an item has bytes, rejected before they are read one by one."""

    def __init__(self) -> None:
        super().__init__("Item size has exceeded the maximum allowed size")


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

    @classmethod
    def _from_members(cls, members: dict[str, Any], message: str) -> Self:
        return cls()


class MissingAuthenticationToken(DynamoDBError):
    code = "MissingAuthenticationTokenException"
    namespace = _CORAL_SERVICE

    def __init__(self) -> None:
        super().__init__("Request is missing Authentication Token")

    @classmethod
    def _from_members(cls, members: dict[str, Any], message: str) -> Self:
        return cls()


class IncompleteSignatureException(DynamoDBError):
    code = "IncompleteSignatureException"
    namespace = _CORAL_SERVICE


class InvalidSignatureException(DynamoDBError):
    code = "InvalidSignatureException"
    namespace = _CORAL_SERVICE


class UnrecognizedClientException(DynamoDBError):
    code = "UnrecognizedClientException"
    namespace = _CORAL_SERVICE

    def __init__(self) -> None:
        super().__init__("The security token included in the request is invalid.")

    @classmethod
    def _from_members(cls, members: dict[str, Any], message: str) -> Self:
        return cls()


class AccessDeniedException(DynamoDBError):
    code = "AccessDeniedException"
    namespace = _CORAL_SERVICE
    message_member = "Message"


class ResourceNotFoundException(DynamoDBError):
    code = "ResourceNotFoundException"


class ResourceInUseException(DynamoDBError):
    code = "ResourceInUseException"


class TableNotFoundException(DynamoDBError):
    code = "TableNotFoundException"


class TableAlreadyExistsException(DynamoDBError):
    code = "TableAlreadyExistsException"


class TableInUseException(DynamoDBError):
    code = "TableInUseException"


class BackupNotFoundException(DynamoDBError):
    code = "BackupNotFoundException"


class BackupInUseException(DynamoDBError):
    code = "BackupInUseException"


class ContinuousBackupsUnavailableException(DynamoDBError):
    code = "ContinuousBackupsUnavailableException"


class PointInTimeRecoveryUnavailableException(DynamoDBError):
    code = "PointInTimeRecoveryUnavailableException"


class InvalidRestoreTimeException(DynamoDBError):
    code = "InvalidRestoreTimeException"


class InvalidExportTimeException(DynamoDBError):
    code = "InvalidExportTimeException"


class ExportConflictException(DynamoDBError):
    code = "ExportConflictException"


class ExportNotFoundException(DynamoDBError):
    code = "ExportNotFoundException"


class ImportConflictException(DynamoDBError):
    code = "ImportConflictException"


class ImportNotFoundException(DynamoDBError):
    code = "ImportNotFoundException"


class LimitExceededException(DynamoDBError):
    code = "LimitExceededException"


class IdempotentParameterMismatchException(DynamoDBError):
    code = "IdempotentParameterMismatchException"
    message_member = "Message"

    def __init__(self) -> None:
        super().__init__(
            "Requested parameters don't match the parameters of the earlier request with the same idempotent token"
        )

    @classmethod
    def _from_members(cls, members: dict[str, Any], message: str) -> Self:
        return cls()


class ItemCollectionSizeLimitExceededException(DynamoDBError):
    code = "ItemCollectionSizeLimitExceededException"


class ThrottlingException(DynamoDBError):
    code = "ThrottlingException"


class ProvisionedThroughputExceededException(DynamoDBError):
    code = "ProvisionedThroughputExceededException"


class RequestLimitExceeded(DynamoDBError):
    code = "RequestLimitExceeded"


class TransactionConflictException(DynamoDBError):
    code = "TransactionConflictException"


class TransactionInProgressException(DynamoDBError):
    code = "TransactionInProgressException"
    message_member = "Message"


class ServiceUnavailable(DynamoDBError):
    code = "ServiceUnavailable"
    status = 503


class InternalServerError(DynamoDBError):
    code = "InternalServerError"
    status = 500


class TrimmedDataAccessException(DynamoDBError):
    code = "TrimmedDataAccessException"


class ExpiredIteratorException(DynamoDBError):
    code = "ExpiredIteratorException"


class ConditionalCheckFailedException(DynamoDBError):
    """`item` is the item as stored, if the request asked for it."""

    code = "ConditionalCheckFailedException"

    def __init__(self, item: Item | None = None) -> None:
        super().__init__("The conditional request failed")
        self.item = item

    def body(self) -> dict[str, Any]:
        members = super().body()
        if self.item is not None:
            members["Item"] = self.item
        return members

    @classmethod
    def _from_members(cls, members: dict[str, Any], message: str) -> Self:
        return cls(members.get("Item"))


class DuplicateItemException(DynamoDBError):
    code = "DuplicateItemException"

    def __init__(self) -> None:
        super().__init__("Duplicate primary key exists in table")

    @classmethod
    def _from_members(cls, members: dict[str, Any], message: str) -> Self:
        return cls()


class TransactionCanceledException(DynamoDBError):
    """`reasons` has one entry for each action, `{"Code": "None"}` for an action that did not fail."""

    code = "TransactionCanceledException"
    message_member = "Message"

    def __init__(self, reasons: list[dict[str, Any]]) -> None:
        codes = ", ".join(reason.get("Code", "None") for reason in reasons)
        super().__init__(f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]")
        self.reasons = reasons

    def body(self) -> dict[str, Any]:
        return {**super().body(), "CancellationReasons": self.reasons}

    @classmethod
    def _from_members(cls, members: dict[str, Any], message: str) -> Self:
        return cls(members.get("CancellationReasons") or [])


TABLE_NOT_FOUND = "Requested resource not found"
INVALID = "One or more parameter values were invalid: "


def _classes_by_code(base: type[DynamoDBError]) -> dict[str, type[DynamoDBError]]:
    found: dict[str, type[DynamoDBError]] = {}
    for each in base.__subclasses__():
        if each is not UnlistedError:
            found = _classes_by_code(each) | {each.code: each} | found
    return found


BY_CODE = _classes_by_code(DynamoDBError)
"""The error class for each code."""
