"""Measurements of a page in a browser: JavaScript expressions."""

TOO_WIDE = """
[...document.querySelectorAll('body, body *')]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && !each.closest('pre, textarea, .skip'))
  .map((each) => each.outerHTML.slice(0, 120))
"""
# The lowest contrast of any visible text with its background (WCAG 2.2, relative luminance).
LEAST_CONTRAST = """
() => {
  const numbers = (color) => color.match(/[0-9.]+/g).map(Number)
  const linear = (part) => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  const light = (color) => { const [r, g, b] = numbers(color).map(linear); return 0.2126 * r + 0.7152 * g + 0.0722 * b }
  const behind = (each) => {
    for (; each; each = each.parentElement) {
      const color = getComputedStyle(each).backgroundColor
      if (numbers(color)[3] !== 0) return color
    }
  }
  return Math.min(...[...document.querySelectorAll('body *')].filter((each) => each.checkVisibility()).map((each) => {
    const [low, high] = [light(getComputedStyle(each).color), light(behind(each))].sort((a, b) => a - b)
    return (high + 0.05) / (low + 0.05)
  }))
}
"""
