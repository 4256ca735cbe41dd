"""Categories of parts: one canonical word is stored, and aliases are accepted."""

from unicodedata import normalize

from partita import InvalidValue, OpenEnum

MAX_LENGTH = 60


class Category(OpenEnum):
    """The categories of the document; other words are categories as well."""

    BATTERY = "배터리"
    MOTOR = "모터"
    ELECTRONICS = "전장부품"
    INVERTER = "인버터"
    CHARGER = "충전기"
    COOLING = "냉각장치"


ANY = Category("ANY")
"""All categories: for watches and cached matches without a category."""

ALIASES = {
    Category.BATTERY: ("battery", "batteries", "battery pack", "배터리팩", "밧데리", "축전지"),
    Category.MOTOR: ("motor", "motors", "drive motor", "전동기", "구동모터"),
    Category.ELECTRONICS: ("electronics", "electronic parts", "전장", "전장 부품"),
    Category.INVERTER: ("inverter", "inverters"),
    Category.CHARGER: ("charger", "chargers", "obc", "온보드차저"),
    Category.COOLING: ("cooling", "cooling system", "냉각 장치"),
}
_WORDS = {
    category: tuple(
        dict.fromkeys(form for word in (category.value, *aliases) for form in (word, word.capitalize(), word.title()))
    )
    for category, aliases in ALIASES.items()
}
MAX_ALIASES = max(map(len, _WORDS.values()))
_KNOWN = {alias: category for category, aliases in ALIASES.items() for alias in (category.value, *aliases)}


def category_of(text: str, entity: str = "Part", *path: str) -> Category:
    """The canonical category of a word, in Korean or English, in any normalisation form and case.

    >>> category_of("Battery") is category_of("배터리") is Category.BATTERY
    True
    >>> category_of("타이어").value
    '타이어'
    """
    word = " ".join(normalize("NFC", text).split())
    known = _KNOWN.get(word.casefold())
    if known is not None:
        return known
    if len(word) > MAX_LENGTH:
        raise InvalidValue(entity, f"must have at most {MAX_LENGTH} characters", *path or ("category",))
    if not word or word.casefold() == ANY.value.casefold():
        raise InvalidValue(entity, f"{str(text)!r} is not a valid category", *path or ("category",))
    return Category(word)


def stored_words(category: Category) -> tuple[Category, ...]:
    """The category and its aliases of one word: the words under which other code may have stored its parts.

    >>> [each.value for each in stored_words(Category.INVERTER)]
    ['인버터', 'inverter', 'Inverter', 'inverters', 'Inverters']
    """
    return tuple(map(Category, _WORDS.get(category, (category.value,))))


def catalogue_of(text: str, entity: str = "Catalogue", *path: str) -> Category:
    """The canonical category of a word, or `ANY`.

    >>> catalogue_of("any") is ANY
    True
    """
    return ANY if text.strip().casefold() == ANY.value.casefold() else category_of(text, entity, *path)
