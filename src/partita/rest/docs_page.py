"""A page for people: every operation of an API, readable without fetching anything from elsewhere."""

import json
from html import escape
from typing import Any

from partita.rest.openapi import openapi
from partita.rest.routes import Api

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c}
h1{margin-bottom:.2rem}h2{margin-top:2.2rem;font-size:1.05rem;border-top:1px solid #ddd;padding-top:1rem}
.method{display:inline-block;min-width:4.5rem;font-weight:700}.GET{color:#0a6b3d}.POST{color:#0b4f9e}
.PATCH,.PUT{color:#8a5a00}.DELETE{color:#a3201d}code,pre{font:14px/1.45 ui-monospace,monospace}
pre{background:#f3f2ee;padding:.8rem;border-radius:6px;overflow:auto}table{border-collapse:collapse}
td,th{text-align:left;padding:.15rem .8rem .15rem 0;vertical-align:top}.who{color:#555}nav a{margin-right:1rem}
"""


def docs_page(api: Api[Any]) -> str:
    """The page in HTML."""
    described = openapi(api)
    operations = [
        _operation(path, method.upper(), operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    title = escape(api.title)
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{title}</title><style>{_STYLE}</style><h1>{title}</h1><p>{escape(api.about)}</p>"
        f"<nav><a href='openapi.json'>openapi.json</a></nav>{''.join(operations)}</html>"
    )


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    about = "".join(f"<p>{escape(each)}</p>" for each in operation["description"].split("\n\n"))
    return (
        f"<h2 id={escape(operation['operationId'])}><span class='method {method}'>{method}</span>"
        f"<code>{escape(path)}</code></h2>{about}{_parameters(operation)}{_body(operation)}{_responses(operation)}"
    )


def _parameters(operation: dict[str, Any]) -> str:
    rows = [
        f"<tr><td><code>{escape(each['name'])}</code><td>{each['in']}{'' if each.get('required') else ', optional'}"
        f"<td>{escape(_kind(each['schema']))}"
        for each in operation.get("parameters", [])
    ]
    return f"<table>{''.join(rows)}</table>" if rows else ""


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"])
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
    refusals = ", ".join(
        f"{status} {escape(response['description'].lower())}"
        for status, response in operation["responses"].items()
        if status >= "300"
    )
    return "".join(told) + f"<p class=who>Otherwise: {refusals}.</p>"


def _example(content: dict[str, Any]) -> str:
    return f"<pre>{escape(json.dumps(content['example'], indent=2, ensure_ascii=False))}</pre>"
