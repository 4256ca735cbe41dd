"""Bad input is rejected, naming the field, and nothing is written; valid input of every kind is accepted."""

import pytest

from partita import InvalidValue, LimitReached, NotUnique, Store, StoreError
from partita_systems.checks import design as d
from partita_systems.checks.service import Checks
from tests.systems.checks.conftest import add, disk


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"url": "ftp://example.com"}, "Check.url"),
        ({"url": "http://[::1"}, "Check.url"),
        ({"url": "http://[::1]x/"}, "Check.url"),
        ({"url": "http://exa mple.com:99999999/"}, "Check.url"),
        ({"url": "http://example.com:99999999/"}, "Check.url"),
        ({"url": "http://exa\tmple.com/"}, "Check.url"),
        ({"url": "http://\0/"}, "Check.url"),
        ({"url": "http://a..b/"}, "Check.url"),
        ({"url": f"http://{'a' * 64}.com/"}, "Check.url"),
        ({"url": "http://user:pass@h:abc/"}, "Check.url"),
        ({"url": "http://user:pass@example.com/"}, "Check.url: a name and password"),
        ({"delay_ms": 5}, "Check.delay"),
        ({"check_type": d.CheckType("FAX")}, "Check.checkType"),
        ({"attributes": {"keyword": 3}}, "Check.attributes.keyword: expected `str"),
        ({"attributes": {"colour": "red"}}, "Check.attributes.colour: AVAILABILITY has no 'colour'; it has keyword"),
        ({"attributes": {"keyword": "x" * 1001}}, "Check.attributes.keyword: "),
        *(
            ({"check_type": d.CheckType.EBAY, "attributes": {"maxPrice": price}}, "Check.attributes.maxPrice: ")
            for price in ("NaN", "sNaN", "-1", -1, "Infinity", "1e999", "9" * 13, "abc", True)
        ),
    ],
)
def test_bad_input_is_rejected_naming_the_field_and_nothing_is_written(
    checks: Checks, db: Store, given: dict[str, object], named: str
) -> None:
    user = checks.register("a@example.com")
    good: dict[str, object] = {"url": "https://x.org", "check_type": d.CheckType.AVAILABILITY, "delay_ms": 60_000}
    with pytest.raises(InvalidValue, match=named):
        checks.add(user.user_id, **(good | given))  # type: ignore[arg-type]
    assert disk(db, "CHECK") == []


@pytest.mark.parametrize(
    "url",
    ["https://example.com", "http://10.0.0.1:8080/a?b=c#d", "http://[2001:db8::1]:80/", "https://한국.kr/경로?q=é"],
)
def test_an_address_in_any_script_is_stored_unchanged(checks: Checks, db: Store, url: str) -> None:
    created = checks.add(checks.register("a@example.com").user_id, url, d.CheckType.AVAILABILITY, 60_000)
    assert db.one(d.check(created.check_id)).url == url


@pytest.mark.parametrize("price", ["12.50", 12.5, 12, "0", "999999999999.99"])
def test_a_price_may_be_text_or_a_number(checks: Checks, price: object) -> None:
    user = checks.register("a@example.com")
    created = checks.add(user.user_id, "https://x.org", d.CheckType.EBAY, 60_000, {"maxPrice": price})
    assert created.attributes == {"maxPrice": price}


@pytest.mark.parametrize(
    ("outcome", "named"),
    [
        (d.Outcome(), "Outcome.status: None is not valid; use UP or DOWN"),
        (d.Outcome(status="UPP"), "Outcome.status: 'UPP' is not valid; use UP or DOWN"),
        (d.Outcome(status="UP", response_time=-1), "Check.last_result.responseTime"),
        (d.Outcome(status="UP", response_time=10**40), "Check.last_result.responseTime"),
    ],
)
def test_an_invalid_outcome_is_rejected_naming_the_field(
    checks: Checks, db: Store, outcome: d.Outcome, named: str
) -> None:
    check = add(checks, checks.register("a@example.com").user_id)
    (claim,) = checks.claim(1)
    with pytest.raises(InvalidValue, match=named):
        checks.record(claim, outcome)
    assert list(db(d.results(check.check_id))) == []


def test_unknown_enum_values_of_other_code_do_not_break_a_read(checks: Checks, db: Store) -> None:
    user = checks.register("a@example.com")
    with db.change(d.user(user.user_id)) as draft:
        draft.tier = d.Tier("GOLD")
    assert db.one(d.user(user.user_id)).tier.value == "GOLD"


def test_store_errors_have_a_common_base() -> None:
    assert issubclass(NotUnique, StoreError)
    assert issubclass(LimitReached, StoreError)
