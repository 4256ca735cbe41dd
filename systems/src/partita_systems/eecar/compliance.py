"""Rules for parts: a part that breaks one notifies its seller, once for each rule.

`RULES` is the port: a function takes a part with its specification, and returns the violation in both languages.
"""

from collections.abc import Callable
from typing import NamedTuple

from partita import Change, Consumer, Deleted, HandlerTransaction
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import Category
from partita_systems.eecar.notifications import compliance_violation
from partita_systems.service_base import derived_id

compliance = Consumer("eecar-compliance")


class Violation(NamedTuple):
    """A rule that a part breaks; `rule` is its name for machines."""

    rule: str
    ko: str
    en: str


ComplianceRule = Callable[[d.Part, d.Spec | None], Violation | None]


def used_battery_has_recycling_information(part: d.Part, spec: d.Spec | None) -> Violation | None:
    """A used battery is traded with information on its recycling."""
    if part.category != Category.BATTERY or part.condition == d.PartCondition.NEW:
        return None
    if spec is not None and spec.recycling_info:
        return None
    return Violation(
        "recycling-information",
        "중고 배터리에는 재활용 정보(recyclingInfo)가 필요합니다.",
        "A used battery needs information on its recycling (recyclingInfo).",
    )


RULES: list[ComplianceRule] = [used_battery_has_recycling_information]


@compliance.on(d.Part, d.Spec)
def check_part(change: Change[d.Part] | Change[d.Spec], t: HandlerTransaction) -> None:
    """The seller learns of each rule that the part breaks."""
    image = change.before if isinstance(change, Deleted) else change.after
    found = t.find(d.whole_part(image.part_id))
    part = next((each for each in found if isinstance(each, d.Part)), None)
    if part is None:
        return
    spec = next((each for each in found if isinstance(each, d.Spec)), None)
    for violation in filter(None, (rule(part, spec) for rule in RULES)):
        notification_id = derived_id("t", part.created_at, "compliance", part.part_id, violation.rule)
        if t.get(d.notification(notification_id)) is None:
            settings = t.get(d.party_settings(part.seller_id))
            language = d.DEFAULT_LANGUAGE if settings is None else settings.language
            text = violation.en if language == "en" else violation.ko
            t.create(compliance_violation(notification_id, part, violation.rule, text, change.at, language))
