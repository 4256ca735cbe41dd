"""Source code of key texts, for the functions that are compiled for each entity."""

from partita.design.codegen import Env, bind
from partita.design.key_templates import Template
from partita.dynamodb.limits import SORT_KEY_BYTES

SHORT = SORT_KEY_BYTES // 4  # characters: four bytes at most for each


def text_source(template: Template | None, env: Env) -> str:
    """The expression of a key's text: `'ORDER#' + k3(v['placed_at'])`."""
    assert template is not None
    pieces, constant = [], ""
    for at, segment in enumerate(template.segments):
        lead = template.separator.character * bool(at) + segment.constant
        if segment.form is None:
            constant += lead
            continue
        value = f"v[{segment.field!r}]"
        text = f"{bind(segment.form.write, env)}({value})"
        if segment.optional:
            pieces += [repr(constant), f"('' if {value} is None else {lead!r} + {text})"]
        else:
            pieces += [repr(constant + lead), text]
        constant = ""
    return " + ".join([*pieces, repr(constant)] if constant or not pieces else pieces)


def missing_source(fields: tuple[str, ...]) -> str:
    """The expression that is true where one of the parts is None."""
    return " or ".join(f"v[{field!r}] is None" for field in fields) or "False"
