"""Categories of parts: one word on disk, whatever word somebody uses."""

from unicodedata import normalize

from partita import InvalidValue, OpenEnum

LONGEST = 60


class Category(OpenEnum):
    """The document's own words; others may be added without a change here."""

    BATTERY = "배터리"
    MOTOR = "모터"
    ELECTRONICS = "전장부품"
    INVERTER = "인버터"
    CHARGER = "충전기"
    COOLING = "냉각장치"


ANY = Category("ANY")
"""Whatever the category: what a watch or a cached match says that names none."""

ALIASES = {
    Category.BATTERY: ("battery", "batteries", "battery pack", "배터리팩", "밧데리", "축전지"),
    Category.MOTOR: ("motor", "motors", "drive motor", "전동기", "구동모터"),
    Category.ELECTRONICS: ("electronics", "electronic parts", "전장", "전장 부품"),
    Category.INVERTER: ("inverter", "inverters"),
    Category.CHARGER: ("charger", "chargers", "obc", "온보드차저"),
    Category.COOLING: ("cooling", "cooling system", "냉각 장치"),
}
_KNOWN = {alias: category for category, aliases in ALIASES.items() for alias in (category.value, *aliases)}


def category_of(text: str, entity: str = "Part", *path: str) -> Category:
    """The one category that is meant, in Korean or English, composed or not, whatever its case.

    >>> category_of("Battery") is category_of("배터리") is Category.BATTERY
    True
    >>> category_of("타이어").value
    '타이어'
    """
    word = " ".join(normalize("NFC", text).split())
    known = _KNOWN.get(word.casefold())
    if known is not None:
        return known
    if len(word) > LONGEST:
        raise InvalidValue(entity, f"a category has at most {LONGEST} characters", *path or ("category",))
    if not word or word.casefold() == ANY.value.casefold():
        raise InvalidValue(entity, f"{str(text)!r} is no category", *path or ("category",))
    return Category(word)


def catalogue_of(text: str, entity: str = "Catalogue", *path: str) -> Category:
    """The same, and `ANY`.

    >>> catalogue_of("any") is ANY
    True
    """
    return ANY if text.strip().casefold() == ANY.value.casefold() else category_of(text, entity, *path)
