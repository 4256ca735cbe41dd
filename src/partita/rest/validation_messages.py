"""Why a value does not fit its type, in words for a client of an API.

>>> fault_in_words(Fault("type", "int | null", "str"))
'must be a whole number or null'
>>> fault_in_words(Fault("length", "str", operator="<=", limit="200"))
'must have at most 200 characters'
"""

from collections.abc import Callable, Mapping

from partita.errors import Fault, Step, place_text

_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "array": "a list",
    "object": "an object",
    "null": "null",
    "datetime": "a time such as 2025-01-31T12:00:00Z",
    "date": "a date such as 2025-01-31",
    "decimal": "a number",
    "uuid": "a UUID",
}
_FORMATS = {
    "RFC3339 encoded datetime": _TYPES["datetime"],
    "RFC3339 encoded date": _TYPES["date"],
    "RFC3339 encoded time": "a time of day such as 12:00:00Z",
    "ISO8601 duration": "a duration such as PT15M",
    "UUID": _TYPES["uuid"],
    "decimal string": _TYPES["decimal"],
    "base64 encoded string": "bytes in Base64",
}
_COUNTED = {"str": "character", "array": "element", "object": "member", "bytes": "byte"}
_OPERATORS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than", "==": "exactly"}
_ZONES = {"a": "must have a time zone: 2025-01-31T12:00:00Z", "no": "must have no time zone: 2025-01-31T12:00:00"}
_WORDS: Mapping[str, Callable[[Fault], str]] = {
    "type": lambda fault: f"must be {' or '.join(_TYPES.get(each, each) for each in fault.expected.split(' | '))}",
    "bound": lambda fault: f"must be {_OPERATORS[fault.operator]} {fault.limit}",
    "length": lambda fault: f"must have {_OPERATORS[fault.operator]} {fault.limit} {_counted(fault)}",
    "pattern": lambda fault: f"must match {fault.limit}",
    "rule": lambda fault: fault.expected,
    "multiple": lambda fault: f"must be a multiple of {fault.limit}",
    "time zone": lambda fault: _ZONES[fault.expected],
    "missing": lambda _: "is missing",
    "unknown": lambda _: "is not a known member",
    "choice": lambda fault: f"has an unknown value: {fault.got}{'; use ' + fault.expected if fault.expected else ''}",
    "format": lambda fault: f"must be {_FORMATS.get(fault.expected, 'a valid ' + fault.expected)}",
    "range": lambda _: "is out of range",
    "null": lambda _: "must not be null",
}


def fault_in_words(fault: Fault) -> str | None:
    """The fault as a phrase that follows the value's name; None for a fault that the design itself describes."""
    words = _WORDS.get(fault.kind)
    return None if words is None else words(fault)


def _counted(fault: Fault) -> str:
    return f"{_COUNTED[fault.expected]}{'' if fault.limit == '1' else 's'}"


def described(path: tuple[Step, ...], fault: Fault | None, reason: str, whole: str = "") -> tuple[str | None, str]:
    """The member of a request at `path`, and what is wrong with it; `whole` names the request where there is no path.

    >>> described(("size", "highCm"), Fault("missing"), "")
    ('size.highCm', 'size.highCm is missing')
    >>> described(("images", ..., "url"), Fault("length", "str", operator="<=", limit="20"), "")
    ('images', 'a value in images must have at most 20 characters')
    >>> described(("price",), None, "it is not for sale")
    ('price', 'price: it is not for sale')
    """
    known = path[: path.index(...)] if ... in path else path  # the key of a map is unknown
    field = place_text(known)
    words = None if fault is None else fault_in_words(fault)
    if words is None:
        return (field, f"{field}: {reason}") if field else (None, f"{whole}: {reason}" if whole else reason)
    about = f"a value in {field or whole}" if len(known) < len(path) else field or whole or "a value"
    return field or None, f"{about} {words}"
