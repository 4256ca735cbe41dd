"""A page for people: every operation of an API, readable without fetching anything from elsewhere."""

import json
from html import escape
from typing import Any

_STYLE = """
:root{color-scheme:light dark;--line:#8884;--soft:#8882;--faint:#777}
body{font:16px/1.55 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .4rem;text-transform:capitalize}
.method{display:inline-block;min-width:4.2rem;font-weight:700}.GET{color:#15803d}.POST{color:#2563eb}
.PATCH,.PUT{color:#b45309}.DELETE{color:#dc2626}code,pre{font:14px/1.45 ui-monospace,monospace}
details{border:1px solid var(--line);border-radius:8px;margin:.35rem 0;padding:.1rem .9rem}
details[open]{padding-bottom:.8rem}summary{cursor:pointer;padding:.35rem 0}
summary .about{color:var(--faint);margin-left:.8rem}summary code{overflow-wrap:anywhere}
pre{background:var(--soft);padding:.8rem;border-radius:6px;overflow:auto;max-height:26rem}
table{border-collapse:collapse}td{padding:.15rem 1rem .15rem 0;vertical-align:top}
.faint{color:var(--faint)}p{margin:.5rem 0}
"""


def docs_page(title: str, described: dict[str, Any]) -> str:
    """The page in HTML, of an OpenAPI description."""
    sections: dict[str, list[str]] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            sections.setdefault(path.split("/")[3], []).append(_operation(path, method.upper(), operation))
    body = "".join(f"<h2>{escape(name)}</h2>{''.join(each)}" for name, each in sections.items())
    about = escape(described["info"]["description"])
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width,initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><h1>{escape(title)}</h1><p>{about}</p>"
        "<p class=faint>Who you are is said by a bearer token (<code>Authorization: Bearer …</code>). "
        "Lists come in pages: give <code>cursor</code> back for the next. Refusals are problem details (RFC 9457). "
        f"For machines: <a href=openapi.json>openapi.json</a>.</p>{body}</body></html>"
    )


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    about, _, who = operation["description"].rpartition("\n\n")
    told = "".join(f"<p>{_prose(each)}</p>" for each in about.split("\n\n"))
    return (
        f"<details id='{escape(operation['operationId'])}'><summary><span class='method {method}'>{method}</span>"
        f"<code>{escape(path)}</code><span class=about>{_prose(operation['summary'])}</span></summary>"
        f"{told}<p class=faint>{_prose(who)}</p>{_parameters(operation)}{_body(operation)}{_responses(operation)}"
        "</details>"
    )


def _prose(text: str) -> str:
    """Text with its `code` set as such."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))


def _parameters(operation: dict[str, Any]) -> str:
    rows = [
        f"<tr><td><code>{escape(each['name'])}</code><td class=faint>{each['in']}"
        f"{'' if each.get('required') else ', optional'}<td>{escape(_kind(each['schema']))}"
        for each in operation.get("parameters", [])
    ]
    return f"<table>{''.join(rows)}</table>" if rows else ""


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"] if each.get("type") != "null")
    if "minimum" in schema and "maximum" in schema:
        return f"{schema['minimum']} to {schema['maximum']}"
    return str(schema.get("format") or schema.get("type", "anything"))


def _body(operation: dict[str, Any]) -> str:
    body = operation.get("requestBody")
    return f"<p>Send</p>{_example(body['content']['application/json'])}" if body else ""


def _responses(operation: dict[str, Any]) -> str:
    told = []
    for status, response in operation["responses"].items():
        content = response.get("content", {}).get("application/json")
        if content:
            told.append(f"<p>{status}</p>{_example(content)}")
        elif status == "204":
            told.append("<p>204, without a body</p>")
    refusals = ", ".join(
        f"{status} {escape(response['description'].lower())}"
        for status, response in operation["responses"].items()
        if status >= "300"
    )
    return "".join(told) + f"<p class=faint>Otherwise: {refusals}.</p>"


def _example(content: dict[str, Any]) -> str:
    return f"<pre>{escape(json.dumps(content['example'], indent=2, ensure_ascii=False))}</pre>"
