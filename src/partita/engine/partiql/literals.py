"""The values that a statement spells out: text, numbers, lists, structs, and bags, which are DynamoDB's sets."""

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.values import AttributeValue
from partita.engine.partiql.statement_tokens import Token, Tokens

DEEPEST = 64
_STARTS = ("[", "{", "<<")


def starts_literal(tokens: Tokens) -> bool:
    token = tokens.peek()
    if token.kind in ("string", "number", "ion"):
        return True
    if token.kind == "symbol" and token.text in ("+", "-"):
        return tokens.peek(1).kind == "number"
    return any(token.says(word) for word in (*_STARTS, "TRUE", "FALSE", "NULL", "MISSING"))


def literal(tokens: Tokens, under: str = "root", depth: int = 0) -> AttributeValue:
    """The literal that comes next; `under` is where it stands, for what may be wrong with it."""
    token = tokens.take()
    if token.kind == "string":
        return {"S": token.text}
    if token.kind == "number":
        return {"N": token.text}
    if token.kind == "ion":
        raise ValidationException(f"Ion Literals are not supported under key {under} at {token.place}")
    if token.says("+") or token.says("-"):
        return {"N": ("-" if token.says("-") else "") + tokens.take().text}
    if token.says("TRUE") or token.says("FALSE"):
        return {"BOOL": token.says("TRUE")}
    if token.says("NULL"):
        return {"NULL": True}
    if depth > DEEPEST:
        raise ValidationException("Nesting Levels have exceeded supported limits")
    if token.says("["):
        return {"L": _members(tokens, "]", under, depth)}
    if token.says("<<"):
        return _bag(tokens, token, under, depth)
    if token.says("{"):
        return {"M": _struct(tokens, under, depth)}
    raise _unsupported(token, under)


def _unsupported(token: Token, under: str) -> ValidationException:
    kind = "Parameter" if token.says("?") else "MISSING" if token.says("MISSING") else "VariableReference"
    return ValidationException(f"Unsupported data type: {kind} under key {under} at {token.place}")


def _members(tokens: Tokens, end: str, under: str, depth: int) -> list[AttributeValue]:
    found: list[AttributeValue] = []
    if tokens.accept(end):
        return found
    while True:
        found.append(literal(tokens, f"{under}.{len(found)}", depth + 1))
        if not tokens.accept(","):
            tokens.expect(end)
            return found


def _bag(tokens: Tokens, start: Token, under: str, depth: int) -> AttributeValue:
    members = _members(tokens, ">>", under, depth)
    if not members:
        raise ValidationException(f"Empty bags are not supported at {start.place}")
    for kind in ("S", "N"):
        if all(kind in member for member in members):
            return {kind + "S": [member[kind] for member in members]}
    raise ValidationException("Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags")


def _struct(tokens: Tokens, under: str, depth: int) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {}
    if tokens.accept("}"):
        return found
    while True:
        name = struct_key(tokens, under, found)
        found[name] = literal(tokens, f"{under}.{name}", depth + 1)
        if not tokens.accept(","):
            tokens.expect("}")
            return found


def struct_key(tokens: Tokens, under: str, found: dict[str, AttributeValue]) -> str:
    """The next `'name' :` of a struct."""
    token = tokens.take()
    if token.kind != "string":
        kind = "Number" if token.kind == "number" else "VariableReference"
        raise ValidationException(
            f"Tuple keys must be of type String. Actual type: {kind} under {under} at {token.place}"
        )
    if token.text in found:
        raise ValidationException(f"Duplicate keys in tuple. Key: {token.text} under {under} at {token.place}")
    tokens.expect(":")
    return token.text
