"""Tables that are created from exported properties, as CloudFormation and Terraform do it."""

from collections.abc import Iterable
from typing import Any

import msgspec

from partita import Design, Store, connect, plan_migration
from partita.dynamodb import requests as wire

CREATED_WITH = {each.encode_name for each in msgspec.structs.fields(wire.CreateTable)}


def planned_after(design: Design, exported: Iterable[dict[str, Any]]) -> list[str]:
    """What `partita plan` finds to do for tables that were created with these properties."""
    with connect("memory:") as backend:
        for properties in exported:
            for request in _requests(properties):
                backend.call(request)
        plan = plan_migration(Store(backend, design))
        return [*plan.tables, *plan.blocked, *(each.action for each in plan.steps)]


def _requests(properties: dict[str, Any]) -> Iterable[wire.Request[Any]]:
    created = {name: value for name, value in properties.items() if name in CREATED_WITH}
    if stream := created.get("StreamSpecification"):
        created["StreamSpecification"] = {"StreamEnabled": True, **stream}
    yield msgspec.convert(created, wire.CreateTable)
    for kind in (wire.UpdateTimeToLive, wire.UpdateContinuousBackups):
        names = {each.encode_name for each in msgspec.structs.fields(kind)}
        if names - {"TableName"} <= properties.keys():
            yield msgspec.convert({name: properties[name] for name in names}, kind)
