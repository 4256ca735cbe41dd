"""The accent color of a site, in shades that can be read on light and on dark pages."""

import colorsys
from typing import NamedTuple

READABLE = 4.5  # the least contrast of text (WCAG 2.2, level AA)

Rgb = tuple[float, float, float]


class Accent(NamedTuple):
    """Colors in hexadecimal: the accent itself, text on it, a color to mix it with that keeps this text readable, and
    the accent as text on light and dark pages."""

    plain: str
    on_plain: str
    away: str
    on_light: str
    on_dark: str


def accent(color: str, light: str = "#f6f5f2", dark: str = "#1d2125") -> Accent:
    """The shades of a color such as `#2a9d8f` or `#fa0`; `light` and `dark` are the raised surfaces of base.css.

    >>> accent("#ffee00")
    Accent(plain='#ffee00', on_plain='#000000', away='#ffffff', on_light='#7a7200', on_dark='#ffee00')
    """
    plain = _rgb(color)
    black, white = "#000000", "#ffffff"  # one of them can be read on any color
    away, on_plain = sorted((black, white), key=lambda each: _contrast(plain, _rgb(each)))
    as_text = (_hex(_readable(plain, _rgb(page), step)) for page, step in ((light, -0.02), (dark, 0.02)))
    return Accent(_hex(plain), on_plain, away, *as_text)


def _readable(color: Rgb, page: Rgb, step: float) -> Rgb:
    """The color, darker or lighter by as many steps as it takes to be read on the page."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*color)
    while _contrast(color, page) < READABLE and 0 < lightness + step < 1:
        lightness += step
        color = colorsys.hls_to_rgb(hue, lightness, saturation)
    return color


def _contrast(one: Rgb, other: Rgb) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: Rgb) -> float:
    """Relative luminance (WCAG 2.2)."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rgb(color: str) -> Rgb:
    digits = color.removeprefix("#")
    digits = "".join(each * 2 for each in digits) if len(digits) == 3 else digits
    red, green, blue = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return red, green, blue


def _hex(color: Rgb) -> str:
    return "#" + "".join(f"{round(part * 255):02x}" for part in color)
