"""Literals in statements: text, numbers, lists, structs, and bags, which are DynamoDB's sets."""

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.statements.statement_tokens import StatementToken, StatementTokens
from partita.dynamodb.values import AttributeValue

MAX_DEPTH = 64
_STARTS = ("[", "{", "<<")


def starts_literal(tokens: StatementTokens) -> bool:
    token = tokens.peek()
    if token.kind in ("string", "number", "ion"):
        return True
    if token.kind == "symbol" and token.text in ("+", "-"):
        return tokens.peek(1).kind == "number"
    return any(token.matches(word) for word in (*_STARTS, "TRUE", "FALSE", "NULL", "MISSING"))


def parse_literal(tokens: StatementTokens, under: str = "root", depth: int = 0) -> AttributeValue:
    """Parses the next literal; `under` is its path, for error messages."""
    token = tokens.take()
    if token.kind == "string":
        return {"S": token.text}
    if token.kind == "number":
        return {"N": token.text}
    if token.kind == "ion":
        raise ValidationException(f"Ion Literals are not supported under key {under} at {token.location}")
    if token.matches("+") or token.matches("-"):
        return {"N": ("-" if token.matches("-") else "") + tokens.take().text}
    if token.matches("TRUE") or token.matches("FALSE"):
        return {"BOOL": token.matches("TRUE")}
    if token.matches("NULL"):
        return {"NULL": True}
    if depth > MAX_DEPTH:
        raise ValidationException("Nesting Levels have exceeded supported limits")
    if token.matches("["):
        return {"L": _members(tokens, "]", under, depth)}
    if token.matches("<<"):
        return _bag(tokens, token, under, depth)
    if token.matches("{"):
        return {"M": _struct(tokens, under, depth)}
    raise _unsupported(token, under)


def _unsupported(token: StatementToken, under: str) -> ValidationException:
    kind = "Parameter" if token.matches("?") else "MISSING" if token.matches("MISSING") else "VariableReference"
    return ValidationException(f"Unsupported data type: {kind} under key {under} at {token.location}")


def _members(tokens: StatementTokens, end: str, under: str, depth: int) -> list[AttributeValue]:
    found: list[AttributeValue] = []
    if tokens.accept(end):
        return found
    while True:
        found.append(parse_literal(tokens, f"{under}.{len(found)}", depth + 1))
        if not tokens.accept(","):
            tokens.expect(end)
            return found


def _bag(tokens: StatementTokens, start: StatementToken, under: str, depth: int) -> AttributeValue:
    members = _members(tokens, ">>", under, depth)
    if not members:
        raise ValidationException(f"Empty bags are not supported at {start.location}")
    for kind in ("S", "N"):
        if all(kind in member for member in members):
            return {kind + "S": [member[kind] for member in members]}
    raise ValidationException("Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags")


def _struct(tokens: StatementTokens, under: str, depth: int) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {}
    if tokens.accept("}"):
        return found
    while True:
        name = parse_struct_key(tokens, under, found)
        found[name] = parse_literal(tokens, f"{under}.{name}", depth + 1)
        if not tokens.accept(","):
            tokens.expect("}")
            return found


def parse_struct_key(tokens: StatementTokens, under: str, found: dict[str, AttributeValue]) -> str:
    """Parses the next `'name' :` of a struct."""
    token = tokens.take()
    if token.kind != "string":
        kind = "Number" if token.kind == "number" else "VariableReference"
        raise ValidationException(
            f"Tuple keys must be of type String. Actual type: {kind} under {under} at {token.location}"
        )
    if token.text in found:
        raise ValidationException(f"Duplicate keys in tuple. Key: {token.text} under {under} at {token.location}")
    tokens.expect(":")
    return token.text
