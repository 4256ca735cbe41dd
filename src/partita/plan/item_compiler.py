"""Whole items by a function that is compiled once for each entity.

`items.item_of` defines an item step by step. The compiled function returns the same for valid values, without looking
at the design again. For `Order` it begins

    def write(v):
        item = {}
        if (held := v['status']) is not None: item['status'] = {'S': k0(held)}
        if v['customer_id'] is None: raise ValueError('a part of the key is missing')
        key = 'CUSTOMER#' + k1(v['customer_id']); item['PK'] = {'S': key}

For an invalid value it raises any error, and `item_of` then raises the proper one.
"""

from collections.abc import Callable
from functools import cache, partial

from partita.design.codegen import Env, bind, compile_function
from partita.design.models import Model
from partita.dynamodb.values import Item
from partita.plan.items import (
    Derived,
    Values,
    derivations,
    derived_step_by_step,
    item_of,
    member_source,
    template_keys,
)
from partita.plan.key_source import SHORT, missing_source, text_source
from partita.plan.predicates import design_predicate


def compiled_item(model: Model, values: Values) -> Item:
    """The same as `item_of`, faster."""
    try:
        item: Item = item_writer(model)(values)
    except (ValueError, TypeError, AttributeError, ArithmeticError, LookupError):
        return item_of(model, values)
    return item


@cache
def item_writer(model: Model) -> Callable[[Values], Item]:
    """The compiled function; it may raise any error where `item_of` may raise an InvalidValue."""
    env: Env = {}
    lines = ["item = {}"]
    lines += [line for member in model.members for line in member_source(model, member, env)]
    lines += _key(model, env)
    if model.table.type_attribute:
        lines.append(f"item.setdefault({model.table.type_attribute!r}, {{'S': {model.type_name!r}}})")
    for group in derivations(model):
        lines += _group(model, group, env)
    return compile_function(f"writer of {model.name}", [*lines, "return item"], env)


def _key(model: Model, env: Env) -> list[str]:
    lines = [f"if {missing_source(model.key.required_fields)}: raise ValueError('a part of the key is missing')"]
    for attribute in model.key.attributes:
        if attribute.template is None:
            lines.append(f"(key,) = item[{attribute.name!r}].values()")
        else:
            lines.append(f"key = {text_source(attribute.template, env)}; item[{attribute.name!r}] = {{'S': key}}")
        lines.append(f"if len(key) > {SHORT}: raise ValueError('perhaps too long')")
    return lines


def _group(model: Model, group: Derived, env: Env) -> list[str]:
    """Lines for the keys of an index with one `Keys`, or a TTL without a condition; a call otherwise."""
    step_by_step = f"{bind(partial(_derived, model, group), env)}(v, item)"
    if len(group.alternatives) == 1:
        (keys,) = group.alternatives
        written = template_keys(model, keys)
        fields = tuple(dict.fromkeys(field for each in written for field in each.required_fields))
        lines = [f"if {missing_source(fields)}: {step_by_step}", "else:"]
        for each in written:
            lines.append(f"    key = {text_source(each.template, env)}; item[{each.name!r}] = {{'S': key}}")
            lines.append(f"    if len(key) > {SHORT}: raise ValueError('perhaps too long')")
        if keys.when is None:
            return lines
        condition = bind(design_predicate(model, keys.when), env)
        return [f"if {condition}(item):", *(f"    {line}" for line in lines)]
    expires = model.expires
    if group.migration is not None or group.alternatives or expires is None or expires.when is not None:
        return [step_by_step]
    after = bind(expires.after, env)
    second = f"str(int((held + {after}).timestamp()))"
    return [f"if (held := v[{expires.at!r}]) is not None: item[{group.names[0]!r}] = {{'N': {second}}}"]


def _derived(model: Model, group: Derived, values: Values, item: Item) -> None:
    item.update(
        (name, value) for name, value in derived_step_by_step(model, group, values, item).items() if value is not None
    )
