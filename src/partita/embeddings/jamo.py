"""Hangul syllables as their letters (jamo): a misspelt syllable shares most of its letters with the right one."""

_FIRST, _LAST = ord("가"), ord("힣")
_INITIAL = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
_MEDIAL = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
_FINAL: tuple[str, ...] = ("", *"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ")


def is_hangul(text: str) -> bool:
    """Whether a text is syllables of Hangul only.

    >>> is_hangul("배터리"), is_hangul("EV6")
    (True, False)
    """
    return text != "" and all("가" <= each <= "힣" for each in text)


def letters_of(text: str) -> str:
    """The text with its Hangul syllables taken apart; a silent initial is left out.

    >>> letters_of("배터리 EV"), letters_of("인버터")
    ('ㅂㅐㅌㅓㄹㅣ EV', 'ㅣㄴㅂㅓㅌㅓ')
    """
    return "".join(_letters(each) for each in text)


def _letters(syllable: str) -> str:
    number = ord(syllable) - _FIRST
    if not 0 <= number <= _LAST - _FIRST:
        return syllable
    initial, rest = divmod(number, len(_MEDIAL) * len(_FINAL))
    medial, final = divmod(rest, len(_FINAL))
    return _INITIAL[initial].replace("ㅇ", "") + _MEDIAL[medial] + _FINAL[final]
