"""The constraints on the members of requests (lengths, enums, patterns, ranges) as data, and their check.

DynamoDB collects all violations and reports them together ("2 validation errors detected: ..."), before it checks
anything else. The order of the entries is the order of its reports.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property, lru_cache, partial
from operator import attrgetter, is_, is_not
from typing import Any

import msgspec

from partita.dynamodb import backup_shapes as b
from partita.dynamodb import requests as q
from partita.dynamodb import transfer_shapes as t
from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.limits import BACKUP_LIST, SCAN_SEGMENTS, TRANSACTION_ACTIONS

MAX_REPORTED = 10
MAX_MEMBERS = 1000  # of a list of structures, none of which may have as many in DynamoDB
MAX_PRINTED = 100  # members in a message
MAX_JSON = 2048  # bytes of a map in a message
MAX_REMEMBERED_NAME = 1024  # characters; that many has the longest ARN of a table


class Constraint(msgspec.Struct, frozen=True, dict=True):
    """The constraints on one member; `children` are the members of a structure, or of those in a list or map."""

    field: str
    required: bool = False
    enum: tuple[str, ...] = ()  # of a list: of its members
    pattern: str = ""
    words: str = ""  # the pattern as DynamoDB writes it, where that one backtracks
    min_length: int | None = None
    max_length: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    children: tuple["Constraint", ...] = ()
    is_table_name: bool = False  # an ARN is allowed too, which is longer
    by_table: bool = False  # a map whose keys are names of tables, or ARNs

    @cached_property
    def wire_name(self) -> str:
        first, *rest = self.field.split("_")
        return first + "".join(part.capitalize() for part in rest)

    @cached_property
    def match(self) -> re.Pattern[str]:
        return re.compile(self.pattern)


def check_members(request: Any) -> None:
    """Raises one error with all violations in a request."""
    try:
        if _FAST_CHECKS[type(request)].passes(request):
            return
    except _NotRemembered:
        pass
    report_violations(request, MEMBERS[type(request)])


def report_violations(request: Any, members: Iterable[Constraint]) -> None:
    """`check_members` with the given constraints."""
    found = list(_violations(request, members, ""))
    if found:
        plural = "" if len(found) == 1 else "s"
        listed = "; ".join(found[:MAX_REPORTED])
        raise ValidationException(f"{min(len(found), MAX_REPORTED)} validation error{plural} detected: {listed}")


class _FastCheck:
    """The same constraints as one cheap test for each member; `_violations` then explains a failure.

    Programs set optional members in few ways, mostly not at all, so combinations that have passed are cached.
    """

    MAX_REMEMBERED = 256

    __slots__ = ("_all", "_optional", "_passed_before", "_required")

    def __init__(self, members: tuple[Constraint, ...]) -> None:
        optional = [member.field for member in members if not member.required]
        self._optional: Callable[[Any], Any] = attrgetter(*optional) if optional else lambda request: None
        self._passed_before: set[Any] = set()
        self._required = [(attrgetter(member.field), _test(member)) for member in members if member.required]
        self._all = [(attrgetter(member.field), _test(member)) for member in members]

    def passes(self, request: Any) -> bool:
        values = self._optional(request)
        try:
            has_passed = values in self._passed_before
        except TypeError:  # a list or a map among them
            return not [value for value, test in self._all if not test(value(request))]
        for value, test in self._required if has_passed else self._all:
            if not test(value(request)):
                return False
        if not has_passed and len(self._passed_before) < self.MAX_REMEMBERED:
            self._passed_before.add(values)
        return True


def _test(member: Constraint) -> Callable[[Any], object]:
    if member.is_table_name or member == _INDEX_NAME:
        return _name_test(member)
    if member.by_table:
        return lambda value: value is not None and all(map(_is_table_key, value))
    if member.enum and not member.required:
        return frozenset([None, *member.enum]).__contains__
    if member == Constraint(member.field, required=True):
        return partial(is_not, None)
    return partial(is_, None) if not member.required else lambda value: False


class _NotRemembered(Exception):
    """A name that is not valid, or long: it must be checked again each time."""


@cache
def _name_test(member: Constraint) -> Callable[[Any], bool]:
    @lru_cache(maxsize=1024)
    def is_valid(name: str | None) -> bool:
        if (name is not None and len(name) > MAX_REMEMBERED_NAME) or list(_violations(_NameOnly(name), [member], "")):
            raise _NotRemembered  # lru_cache would hold a result, and with it the name, which a client can make long
        return True

    return is_valid


class _NameOnly:
    """The name of a table or an index, in place of a request."""

    def __init__(self, name: str | None) -> None:
        self.table_name = self.index_name = name


def _violations(holder: Any, members: Iterable[Constraint], prefix: str) -> Iterator[str]:
    for member in members:
        value = getattr(holder, member.field)
        if value is None:
            if member.required:
                yield _violation(None, prefix + member.wire_name, "Member must not be null")
            continue
        if member.enum:
            yield from _enum_violations(value, member, prefix + member.wire_name)
        if member.by_table and not all(map(_is_table_key, value)):
            yield _violation(_as_json(value), prefix + member.wire_name, _TABLE_KEYS)
        yield from _range_violations(value, member, prefix)
        if member.children and isinstance(value, list | dict) and len(value) > MAX_MEMBERS:
            if member.max_length is None:
                limit = f"Member must have length less than or equal to {MAX_MEMBERS}"
                yield _violation(value, prefix + member.wire_name, limit)
        elif member.children:
            yield from _child_violations(value, member, prefix + member.wire_name)


def _enum_violations(value: Any, member: Constraint, where: str) -> Iterator[str]:
    constraint = f"Member must satisfy enum value set: [{', '.join(member.enum)}]"
    if isinstance(value, list):
        if not set(value) <= set(member.enum):
            yield _violation(value, where, f"Member must satisfy constraint: [{constraint}]")
    elif value not in member.enum:
        yield _violation(value, where, constraint)


def _range_violations(value: Any, member: Constraint, prefix: str) -> Iterator[str]:
    where = prefix + member.wire_name
    if member.is_table_name and value.startswith("arn:"):
        return
    if member.pattern and value and not member.match.fullmatch(value):
        yield _violation(
            value, where, f"Member must satisfy regular expression pattern: {member.words or member.pattern}"
        )
    if member.min_length is not None and len(value) < member.min_length:
        yield _violation(value, where, f"Member must have length greater than or equal to {member.min_length}")
    if member.max_length is not None and len(value) > member.max_length:
        yield _violation(value, where, f"Member must have length less than or equal to {member.max_length}")
    if member.minimum is not None and value < member.minimum:
        yield _violation(value, where, f"Member must have value greater than or equal to {member.minimum}")
    if member.maximum is not None and value > member.maximum:
        yield _violation(value, where, f"Member must have value less than or equal to {member.maximum}")


def _child_violations(value: Any, member: Constraint, where: str) -> Iterator[str]:
    if isinstance(value, list):
        for number, each in enumerate(value, 1):
            yield from _violations(each, member.children, f"{where}.{number}.member.")
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _violations(each, member.children, f"{where}.{key}.member.")
    else:
        yield from _violations(value, member.children, where + ".")


def _violation(value: Any, where: str, constraint: str) -> str:
    printed = "null" if value is None else f"'{_printed(value)}'"
    return f"Value {printed} at '{where}' failed to satisfy constraint: {constraint}"


def _first(texts: Iterable[str]) -> Iterator[str]:
    """The first members of a message: it need not be as long as the request."""
    for number, text in enumerate(texts):
        if number == MAX_PRINTED:
            yield "..."
            return
        yield text


def _is_table_key(name: str) -> bool:
    return name.startswith("arn:") or _TABLE_KEY.fullmatch(name) is not None


def _as_json(value: Any) -> str:
    """The beginning of a map of requests by table, which the service prints as JSON."""
    text = msgspec.json.encode(value)
    return text.decode() if len(text) <= MAX_JSON else text[:MAX_JSON].decode(errors="ignore") + "..."


def _printed(value: Any) -> str:
    """A value as the service prints it; structures as `KeySchemaElement(attributeName=pk, ...)`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(_first(map(_printed, value))) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(_first(f"{key}={_printed(each)}" for key, each in value.items())) + "}"
    if hasattr(value, "__struct_fields__"):
        fields = ((Constraint(name).wire_name, getattr(value, name)) for name in value.__struct_fields__)
        printed = ", ".join(f"{name}={_printed(each)}" for name, each in fields if each is not None)
        return f"{type(value).__name__}({printed})"
    return str(value)


_NAME_PATTERN = "[a-zA-Z0-9_.-]+"
_TABLE_KEY = re.compile("[a-zA-Z0-9_.-]{3,255}")
_TABLE_KEYS = (
    "Map keys must satisfy constraint: [Member must have length less than or equal to 255, Member must have length "
    f"greater than or equal to 3, Member must satisfy regular expression pattern: {_NAME_PATTERN}]"
)
_TABLE = Constraint(
    "table_name", required=True, pattern=_NAME_PATTERN, min_length=1, max_length=255, is_table_name=True
)
_BY_TABLE = Constraint("request_items", required=True, by_table=True)
_INDEX_NAME = Constraint("index_name", pattern=_NAME_PATTERN, min_length=3, max_length=255)
_NEW_INDEX_NAME = Constraint("index_name", required=True, pattern=_NAME_PATTERN, min_length=3, max_length=255)
_CONSUMED = Constraint("return_consumed_capacity", enum=("INDEXES", "TOTAL", "NONE"))
_METRICS = Constraint("return_item_collection_metrics", enum=("SIZE", "NONE"))
_VALUES = Constraint("return_values", enum=("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"))
_ON_FAILURE = Constraint("return_values_on_condition_check_failure", enum=("ALL_OLD", "NONE"))
_OPERATOR = Constraint("conditional_operator", enum=("OR", "AND"))
_SELECT = Constraint("select", enum=("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"))
_TO_GET = Constraint("attributes_to_get", min_length=1, max_length=255)
_COMPARISONS = tuple("IN NULL BETWEEN LT NOT_CONTAINS EQ GT NOT_NULL NE LE BEGINS_WITH GE CONTAINS".split())
_COMPARISON = Constraint("comparison_operator", required=True, enum=_COMPARISONS)
_EXPECTED = Constraint("expected", children=(Constraint("comparison_operator", enum=_COMPARISONS),))
_UPDATES = Constraint("attribute_updates", children=(Constraint("action", enum=("ADD", "PUT", "DELETE")),))
_KEY = Constraint("key", required=True)
_LIMIT = Constraint("limit", minimum=1)

_UNITS = (
    Constraint("read_capacity_units", required=True, minimum=1),
    Constraint("write_capacity_units", required=True, minimum=1),
)
_THROUGHPUT = Constraint("provisioned_throughput", children=_UNITS)
_KEY_ELEMENT = (
    Constraint("attribute_name", required=True, min_length=1, max_length=255),
    Constraint("key_type", required=True, enum=("HASH", "RANGE")),
)
_DEFINITION = (
    Constraint("attribute_name", required=True, min_length=1, max_length=255),
    Constraint("attribute_type", required=True, enum=("B", "N", "S")),
)
_PROJECTION = Constraint(
    "projection",
    required=True,
    children=(
        Constraint("projection_type", enum=("ALL", "INCLUDE", "KEYS_ONLY")),
        Constraint("non_key_attributes", min_length=1, max_length=100),
    ),
)
_LOCAL_INDEX = (
    _NEW_INDEX_NAME,
    Constraint("key_schema", required=True, min_length=1, max_length=2, children=_KEY_ELEMENT),
    _PROJECTION,
)
_GLOBAL_INDEX = (
    _NEW_INDEX_NAME,
    Constraint("key_schema", required=True, min_length=1, max_length=8, children=_KEY_ELEMENT),
    _PROJECTION,
    _THROUGHPUT,
)
_VECTOR_INDEX = (
    _NEW_INDEX_NAME,
    Constraint(
        "vector_attribute",
        required=True,
        children=(Constraint("attribute_name", required=True, min_length=1, max_length=255),),
    ),
    Constraint(
        "search_schema",
        min_length=1,
        children=(
            Constraint("attribute_name", required=True, min_length=1, max_length=255),
            Constraint("search_schema_element_type", required=True, enum=("HASH", "INLINE_FILTER")),
        ),
    ),
    _PROJECTION,
    Constraint("dimensions", required=True, minimum=1),
    Constraint("distance_function", required=True, enum=("COSINE", "DOT_PRODUCT", "EUCLIDEAN")),
)
_STREAM = Constraint(
    "stream_specification",
    children=(
        Constraint("stream_enabled", required=True),
        Constraint("stream_view_type", enum=("NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY")),
    ),
)
_BILLING = Constraint("billing_mode", enum=("PROVISIONED", "PAY_PER_REQUEST"))
_CLASS = Constraint("table_class", enum=("STANDARD", "STANDARD_INFREQUENT_ACCESS"))
_SSE = Constraint("sse_specification", children=(Constraint("sse_type", enum=("AES256", "KMS")),))
TAG = (
    Constraint("key", required=True, min_length=1, max_length=128),
    Constraint("value", required=True, min_length=0, max_length=256),
)

_TARGET = Constraint("target_table_name", required=True, pattern=_NAME_PATTERN, min_length=3, max_length=255)
_BACKUP_ARN = Constraint("backup_arn", required=True, min_length=37, max_length=1024)
_OVERRIDES = (
    Constraint("billing_mode_override", enum=("PROVISIONED", "PAY_PER_REQUEST")),
    Constraint("global_secondary_index_override", children=_GLOBAL_INDEX),
    Constraint("local_secondary_index_override", children=_LOCAL_INDEX),
    Constraint("vector_index_override", children=_VECTOR_INDEX),
    Constraint("provisioned_throughput_override", children=_UNITS),
    Constraint("sse_specification_override", children=(Constraint("sse_type", enum=("AES256", "KMS")),)),
)

_BUCKET = r"^[a-z0-9A-Z][\.\-\w]*[a-z0-9A-Z]$"
_BUCKET_WORDS = r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$"
_S3 = (
    Constraint("s3_bucket_owner", pattern="[0-9]{12}"),
    Constraint("s3_bucket", required=True, pattern=_BUCKET, words=_BUCKET_WORDS, min_length=1, max_length=255),
    Constraint("s3_key_prefix", max_length=1024),
)
_SSE_ALGORITHM = Constraint("s3_sse_algorithm", enum=("AES256", "KMS"))
_CLIENT_TOKEN = Constraint("client_token", pattern=r"^[^\$]+$")
_COMPRESSION = Constraint("input_compression_type", enum=("ZSTD", "NONE", "GZIP"))
_LIST_LIMIT = 25
_CSV = Constraint(
    "csv",
    children=(
        Constraint("delimiter", pattern=r"[,;:|\t ]", min_length=1, max_length=1),
        Constraint("header_list", min_length=1, max_length=255),
    ),
)

_CHECKED = (_TABLE, Constraint("condition_expression", required=True), _KEY, _ON_FAILURE)
_TRANSACT_WRITE = (
    Constraint("condition_check", children=_CHECKED),
    Constraint("put", children=(_TABLE, Constraint("item", required=True), _ON_FAILURE)),
    Constraint("delete", children=(_TABLE, _KEY, _ON_FAILURE)),
    Constraint("update", children=(_TABLE, _KEY, Constraint("update_expression", required=True), _ON_FAILURE)),
)

MEMBERS: dict[type, tuple[Constraint, ...]] = {
    q.GetItem: (_CONSUMED, _TABLE, _KEY, _TO_GET),
    q.PutItem: (
        _CONSUMED,
        _TABLE,
        Constraint("item", required=True),
        _OPERATOR,
        _EXPECTED,
        _VALUES,
        _METRICS,
        _ON_FAILURE,
    ),
    q.DeleteItem: (_CONSUMED, _TABLE, _METRICS, _VALUES, _KEY, _OPERATOR, _EXPECTED, _ON_FAILURE),
    q.UpdateItem: (_CONSUMED, _TABLE, _METRICS, _VALUES, _KEY, _UPDATES, _OPERATOR, _EXPECTED, _ON_FAILURE),
    q.Query: (
        _SELECT,
        _INDEX_NAME,
        _CONSUMED,
        Constraint("query_filter", children=(_COMPARISON,)),
        _TABLE,
        _OPERATOR,
        _TO_GET,
        Constraint("key_conditions", children=(_COMPARISON,)),
    ),
    q.Scan: (
        _SELECT,
        _INDEX_NAME,
        Constraint("total_segments", minimum=1, maximum=SCAN_SEGMENTS),
        _CONSUMED,
        _TABLE,
        _OPERATOR,
        Constraint("scan_filter", children=(_COMPARISON,)),
        Constraint("segment", minimum=0, maximum=SCAN_SEGMENTS - 1),
        _LIMIT,
        _TO_GET,
    ),
    q.SearchVectors: (
        _CONSUMED,
        _TABLE,
        Constraint("index_name", required=True),
        Constraint("search_vector", required=True),
        Constraint("top_k", required=True, minimum=1),
    ),
    q.BatchGetItem: (_CONSUMED, _BY_TABLE),
    q.BatchWriteItem: (_CONSUMED, _METRICS, _BY_TABLE),
    q.TransactGetItems: (
        _CONSUMED,
        Constraint(
            "transact_items",
            required=True,
            min_length=1,
            max_length=TRANSACTION_ACTIONS,
            children=(Constraint("get", required=True, children=(_TABLE, _KEY)),),
        ),
    ),
    q.TransactWriteItems: (
        Constraint("client_request_token", min_length=1, max_length=36),
        _CONSUMED,
        _METRICS,
        Constraint(
            "transact_items", required=True, min_length=1, max_length=TRANSACTION_ACTIONS, children=_TRANSACT_WRITE
        ),
    ),
    q.CreateTable: (
        Constraint("attribute_definitions", required=True, children=_DEFINITION),
        Constraint("table_name", pattern=_NAME_PATTERN, min_length=3, max_length=255, is_table_name=True),
        _BILLING,
        _THROUGHPUT,
        Constraint("key_schema", required=True, min_length=1, max_length=2, children=_KEY_ELEMENT),
        Constraint("local_secondary_indexes", children=_LOCAL_INDEX),
        Constraint("global_secondary_indexes", children=_GLOBAL_INDEX),
        Constraint("vector_indexes", children=_VECTOR_INDEX),
        _STREAM,
        _CLASS,
        _SSE,
        Constraint("tags", children=TAG),
    ),
    q.UpdateTable: (
        Constraint("attribute_definitions", children=_DEFINITION),
        _TABLE,
        _BILLING,
        _THROUGHPUT,
        Constraint(
            "global_secondary_index_updates",
            children=(
                Constraint("update", children=(_NEW_INDEX_NAME, _THROUGHPUT)),
                Constraint("create", children=_GLOBAL_INDEX),
                Constraint("delete", children=(_NEW_INDEX_NAME,)),
            ),
        ),
        Constraint(
            "vector_index_updates",
            children=(
                Constraint("create", children=_VECTOR_INDEX),
                Constraint("delete", children=(_NEW_INDEX_NAME,)),
            ),
        ),
        _STREAM,
        _CLASS,
        _SSE,
    ),
    q.DescribeTable: (_TABLE,),
    q.DeleteTable: (_TABLE,),
    q.ListTables: (
        Constraint("exclusive_start_table_name", pattern=_NAME_PATTERN, min_length=3, max_length=255),
        Constraint("limit", minimum=1, maximum=100),
    ),
    q.DescribeTimeToLive: (_TABLE,),
    q.UpdateTimeToLive: (
        _TABLE,
        Constraint(
            "time_to_live_specification",
            required=True,
            children=(
                Constraint("enabled", required=True),
                Constraint("attribute_name", required=True, min_length=1, max_length=255),
            ),
        ),
    ),
    q.DescribeContinuousBackups: (_TABLE,),
    q.UpdateContinuousBackups: (
        _TABLE,
        Constraint(
            "point_in_time_recovery_specification",
            required=True,
            children=(
                Constraint("point_in_time_recovery_enabled", required=True),
                Constraint("recovery_period_in_days", minimum=1, maximum=35),
            ),
        ),
    ),
    b.RestoreTableToPointInTime: (
        Constraint("source_table_arn", min_length=1, max_length=1024),
        Constraint("source_table_name", pattern=_NAME_PATTERN, min_length=3, max_length=255),
        _TARGET,
        *_OVERRIDES,
    ),
    b.RestoreTableFromBackup: (_TARGET, _BACKUP_ARN, *_OVERRIDES),
    b.CreateBackup: (
        _TABLE,
        Constraint("backup_name", required=True, pattern=_NAME_PATTERN, min_length=3, max_length=255),
    ),
    b.DescribeBackup: (_BACKUP_ARN,),
    b.DeleteBackup: (_BACKUP_ARN,),
    b.ListBackups: (
        Constraint("table_name", pattern=_NAME_PATTERN, min_length=1, max_length=1024, is_table_name=True),
        Constraint("limit", minimum=1, maximum=BACKUP_LIST),
        Constraint("exclusive_start_backup_arn", min_length=37, max_length=1024),
        Constraint("backup_type", enum=("USER", "SYSTEM", "AWS_BACKUP", "ALL")),
    ),
    t.ExportTableToPointInTime: (
        Constraint("table_arn", required=True, min_length=1, max_length=1024),
        _CLIENT_TOKEN,
        Constraint("s3_bucket", required=True, pattern=_BUCKET, words=_BUCKET_WORDS, min_length=1, max_length=255),
        Constraint("s3_bucket_owner", pattern="[0-9]{12}"),
        Constraint("s3_prefix", max_length=1024),
        _SSE_ALGORITHM,
        Constraint("export_format", enum=("DYNAMODB_JSON", "ION")),
        Constraint("export_type", enum=("FULL_EXPORT", "INCREMENTAL_EXPORT")),
        Constraint(
            "incremental_export_specification",
            children=(Constraint("export_view_type", enum=("NEW_IMAGE", "NEW_AND_OLD_IMAGES")),),
        ),
    ),
    t.DescribeExport: (Constraint("export_arn", required=True, min_length=37, max_length=1024),),
    t.ListExports: (
        Constraint("table_arn", min_length=1, max_length=1024),
        Constraint("max_results", minimum=1, maximum=_LIST_LIMIT),
    ),
    t.ImportTable: (
        _CLIENT_TOKEN,
        Constraint("s3_bucket_source", required=True, children=_S3),
        Constraint("input_format", required=True, enum=("ION", "DYNAMODB_JSON", "CSV")),
        Constraint("input_format_options", children=(_CSV,)),
        _COMPRESSION,
        Constraint(
            "table_creation_parameters",
            required=True,
            children=(
                Constraint("table_name", required=True, pattern=_NAME_PATTERN, min_length=3, max_length=255),
                Constraint("attribute_definitions", required=True, children=_DEFINITION),
                Constraint("key_schema", required=True, min_length=1, max_length=2, children=_KEY_ELEMENT),
                _BILLING,
                _THROUGHPUT,
                _SSE,
                Constraint("global_secondary_indexes", children=_GLOBAL_INDEX),
                Constraint("vector_indexes", children=_VECTOR_INDEX),
            ),
        ),
    ),
    t.DescribeImport: (Constraint("import_arn", required=True, min_length=37, max_length=1024),),
    t.ListImports: (
        Constraint("table_arn", min_length=1, max_length=1024),
        Constraint("page_size", minimum=1, maximum=_LIST_LIMIT),
    ),
    t.StartBulkPutItems: (
        _CLIENT_TOKEN,
        Constraint(
            "input_s3_configuration",
            required=True,
            children=(*_S3, Constraint("input_format", required=True, enum=("ION", "DYNAMODB_JSON")), _COMPRESSION),
        ),
        Constraint(
            "output_s3_configuration",
            required=True,
            children=(
                *_S3,
                _SSE_ALGORITHM,
                Constraint("output_type", required=True, enum=("ERROR", "CONDITION_CHECK_FAILURE")),
            ),
        ),
        Constraint("table_name", required=True, min_length=1, max_length=1024),
        Constraint("max_write_request_units", minimum=1024),
        Constraint("performance_tier", enum=("STANDARD", "ACCELERATED")),
    ),
    t.DescribeBulkOperation: (Constraint("bulk_operation_arn", required=True, min_length=37, max_length=1024),),
    t.CancelBulkOperation: (Constraint("bulk_operation_arn", required=True, min_length=37, max_length=1024),),
    t.ListBulkOperations: (Constraint("max_results", minimum=1, maximum=_LIST_LIMIT),),
}

_FAST_CHECKS = {request: _FastCheck(members) for request, members in MEMBERS.items()}
