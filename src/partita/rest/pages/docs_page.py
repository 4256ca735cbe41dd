"""The documentation page of an API: every operation, described and with a form to try it.

The page loads nothing from other hosts, and without scripts it can still be read.
"""

from collections.abc import Mapping
from html import escape
from typing import Any

import msgspec

from partita.describe.schema_in_words import members, schema_in_words
from partita.design.json_codec import encoded
from partita.design.json_schema import Schema
from partita.rest.pages.html import asset, html_page

_STYLE, _SCRIPT = asset("docs_page.css"), asset("docs_page.js")


def docs_page(
    title: str, described: dict[str, Any], base: str, values: Mapping[str, str] = {}, demo_token: str = ""
) -> str:
    """The page in HTML, from an OpenAPI description whose paths all begin with `base`.

    `values` are filled into the parameters of paths; `demo_token` is offered to be filled in.
    """
    components = described["components"]["schemas"]
    root = described["servers"][0]["url"].rstrip("/")
    links: dict[str, list[str]] = {}
    sections: dict[str, list[str]] = {}
    for path, methods in described["paths"].items():
        short = path.removeprefix(base)
        name = short.split("/")[1]
        for method, operation in methods.items():
            links.setdefault(name, []).append(_link(short, method, operation))
            sections.setdefault(name, []).append(_operation(root + path, method, operation, components, values))
    navigation = "".join(
        f"<a href='#in-{escape(name)}'>{escape(name)}</a><ul>{''.join(each)}</ul>\n" for name, each in links.items()
    )
    operations = "".join(
        f"<section aria-labelledby='in-{escape(name)}'><h2 id='in-{escape(name)}'>{escape(name)}</h2>\n"
        f"{''.join(each)}</section>\n"
        for name, each in sections.items()
    )
    body = (
        "<a class=skip href='#the-operations'>Skip to the operations</a>\n"
        "<nav aria-label=Operations><input id=the-filter type=search placeholder='Filter by path or description'"
        f" aria-label='Filter operations'>\n{navigation}</nav>\n"
        f"<main><h1>{escape(title)}</h1><p>{_prose(described['info']['description'])}</p>{_introduction(demo_token)}"
        f"{_error_list(described)}<div id=the-operations tabindex=-1>{operations}</div>"
        "<p id=the-nothing hidden>No operation matches the filter.</p></main>\n"
    )
    return html_page(f"{title}: REST API", _STYLE, body, _SCRIPT)


def _introduction(demo_token: str) -> str:
    offered = f"<button type=button id=the-demo data-token='{escape(demo_token)}'>Use the demo token</button> "
    return _INTRODUCTION.replace("<!-- demo -->", offered if demo_token else "")


_INTRODUCTION = """
<p class=faint>Authenticate with a bearer token: <code>Authorization: Bearer …</code>. Lists are paged: send the
<code>cursor</code> of a page to get the next one. Replies have an <code>ETag</code>: send it as <code>If-Match</code>
to reject your change if the entity has been edited since you read it. OpenAPI description:
<a href=openapi.json>openapi.json</a>.</p>
<form class=token><label>Bearer token for the requests below, stored in this browser tab only
<input id=the-token type=password autocomplete=off spellcheck=false></label>
<p class=faint><!-- demo --><span id=the-whose role=status></span> During development, <code>partita serve</code> prints
a token when it starts, and <code>partita token NAME</code> prints others.</p></form>
"""


def _link(short: str, method: str, operation: dict[str, Any]) -> str:
    return (
        f"<li><a href='#{escape(operation['operationId'])}'><b class={method}>{method.upper()}</b>"
        f"<span>{_breakable(short)}</span></a></li>\n"
    )


def _operation(path: str, method: str, operation: dict[str, Any], components: Schema, values: Mapping[str, str]) -> str:
    name = escape(operation["operationId"])
    about, _, who = operation["description"].rpartition("\n\n")
    further = "".join(f"<p>{_prose(each)}</p>" for each in about.split("\n\n") if each != operation["summary"])
    return (
        f"<details class=operation id='{name}'><summary><h3><b class={method}>{method.upper()}</b> "
        f"<code>{_breakable(path)}</code></h3> <span class=about>{_prose(operation['summary'])}</span></summary>\n"
        f"{further}<p>{_prose(who)} <a class=faint href='#{name}'>#{name}</a></p>\n"
        f"<form data-method={method.upper()} data-path='{escape(path)}'>"
        f"{_parameters(operation, components, values)}{_body(operation, components)}"
        "<p class=try><button>Send</button><button type=button>Show curl command</button></p>"
        "<div class=reply hidden><h4>Live response</h4><p role=status></p><pre tabindex=0></pre></div></form>\n"
        f"{_reply(operation, components)}</details>\n"
    )


def _prose(text: str) -> str:
    """Text as HTML, with `code` between backticks."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))


def _breakable(path: str) -> str:
    """A path that may be broken into lines after each slash."""
    return escape(path).replace("/", "/<wbr>")


def _parameters(operation: dict[str, Any], components: Schema, values: Mapping[str, str]) -> str:
    rows = [
        f"<dt><code>{escape(each['name'])}</code> <span class=faint>{each['in']}"
        f"{'' if each.get('required') else ', optional'}</span></dt>"
        f"<dd>{_meaning(each, components)}{_field(each, values)}</dd>\n"
        for each in operation.get("parameters", [])
    ]
    return f"<dl>{''.join(rows)}</dl>" if rows else ""


def _meaning(parameter: dict[str, Any], components: Schema) -> str:
    if "description" in parameter:
        return _prose(parameter["description"])
    return escape(
        schema_in_words(parameter["schema"], components).removesuffix("; or null")
    )  # null cannot be sent there


def _field(parameter: dict[str, Any], values: Mapping[str, str]) -> str:
    """The form field of a parameter."""
    name = escape(parameter["name"])
    common = f"name='{name}' data-in={parameter['in']} aria-label='{name}' class=value"
    if parameter.get("required"):
        common += " required"
    if "enum" in parameter["schema"]:
        choices = "".join(f"<option>{escape(str(each))}</option>" for each in parameter["schema"]["enum"])
        return f"<select {common}><option></option>{choices}</select>"
    example = escape(str(parameter.get("example", parameter["schema"].get("default", ""))))
    known = values.get(parameter["name"]) if parameter["in"] == "path" else None
    value = "" if known is None else f" value='{escape(known)}'"
    return f"<input {common} placeholder='{example}'{value} autocomplete=off spellcheck=false>"


def _body(operation: dict[str, Any], components: Schema) -> str:
    if "requestBody" not in operation:
        return ""
    content = operation["requestBody"]["content"]["application/json"]
    text = _example(content)
    rows = min(text.count("\n") + 1, 20)
    return (
        f"<h4>Request body</h4><textarea rows={rows} spellcheck=false autocomplete=off aria-label='Request body'>"
        f"\n{text}</textarea>{_members(content['schema'], components, sent=True)}"
    )


def _reply(operation: dict[str, Any], components: Schema) -> str:
    status, reply = next(iter(operation["responses"].items()))
    headers = "".join(f", <code>{escape(name)}</code>" for name in reply.get("headers", {}))
    content = reply.get("content", {}).get("application/json")
    if content is not None:
        more = _members(content["schema"], components, sent=False)
        described = f"{headers}</h4><pre tabindex=0>{_example(content)}</pre>{more}"
    elif "content" in reply:
        described = f", {', '.join(map(escape, reply['content']))}{headers}</h4><p>{escape(reply['description'])}.</p>"
    else:
        described = f", without a body{headers}</h4>"
    errors = ", ".join(each for each in operation["responses"] if each >= "400")
    return f"<h4>Example response: {status}{described}<p class=faint><a href='#the-errors'>Errors</a>: {errors}</p>"


def _example(content: dict[str, Any]) -> str:
    return escape(msgspec.json.format(encoded(content["example"]), indent=2).decode())


def _members(schema: Schema, components: Schema, *, sent: bool) -> str:
    rows = [
        f"<dt><code>{_breakable(each.name)}</code>{'' if each.required else ' <span class=faint>optional</span>'}"
        f"</dt><dd>{escape(each.text)}</dd>\n"
        for each in members(schema, components, sent=sent)
    ]
    return f"<details class=members><summary>Members</summary><dl>{''.join(rows)}</dl></details>" if rows else ""


def _error_list(described: dict[str, Any]) -> str:
    """What each error status means, once for all operations."""
    found = {
        status: response["description"]
        for methods in described["paths"].values()
        for operation in methods.values()
        for status, response in operation["responses"].items()
        if status >= "400"
    }
    rows = "".join(f"<dt>{status}</dt><dd>{escape(found[status])}</dd>\n" for status in sorted(found))
    return (
        "<details class=members id=the-errors><summary>Errors: problem details (RFC 9457) with <code>title</code>, "
        "<code>detail</code> and, for an invalid member or parameter, its <code>field</code></summary>"
        f"<dl>{rows}</dl></details>"
    )
