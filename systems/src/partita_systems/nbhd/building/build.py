"""From a site to its files: a pure function of template, config, and the day of the build."""

import io
import zipfile
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from partita import InvalidValue
from partita_systems.nbhd.building.colors import accent
from partita_systems.nbhd.building.html import element
from partita_systems.nbhd.building.layout import SitePages
from partita_systems.nbhd.building.site_config import SiteConfig, site_config
from partita_systems.nbhd.building.templates import TEMPLATES, Template, checked_template, render

STYLES = Path(__file__).with_name("styles")
CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}

Files = Mapping[str, bytes]


class Build(NamedTuple):
    """The files of a site, or the reason why it cannot be built, and the lines of the log."""

    files: Files
    log: list[str]
    error: str | None = None


def build(title: str, template: str, config: dict[str, Any], today: date) -> Build:
    """The files of a site; a config that does not fit, or an unknown template, is an error that names the place."""
    log = [f"template {template}"]
    try:
        chosen = TEMPLATES[checked_template(template)]
        read = site_config(config)
    except InvalidValue as error:
        log.append(f"failed: {error}")
        return Build({}, log, str(error))
    unknown = sorted(config.keys() - set(SiteConfig.__struct_fields__))
    log.append(f"config: {len(read.posts)} posts")
    log += [f"config.{name}: the template has no such member; ignored" for name in unknown]
    hidden = read.custom_fields.keys() - read.shown_fields.keys()
    log += [f"config.custom_fields.{name}: not one line; not shown" for name in sorted(hidden)]
    files = _files(chosen, SitePages(title, read, today))
    log += [f"{path}: {len(data):,} bytes" for path, data in files.items()]
    return Build(files, [*log, f"built {len(files)} files"])


def content_type(path: str) -> str:
    return CONTENT_TYPES[path[path.rindex(".") :]]


def packed(files: Files) -> bytes:
    """The files as a zip archive; the same files give the same bytes."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            written.writestr(entry, data)
    return archive.getvalue()


def unpacked(archive: bytes) -> dict[str, bytes]:
    """The files of an archive, by path."""
    with zipfile.ZipFile(io.BytesIO(archive)) as read:
        return {each: read.read(each) for each in read.namelist()}


def _files(template: Template, site: SitePages) -> Files:
    pages = {path: text.encode() for path, text in render(template, site).items()}
    return pages | {"style.css": _style(template, site.config).encode(), "icon.svg": _icon(site).encode()}


def _style(template: Template, config: SiteConfig) -> str:
    shades = accent(config.accent_color)
    values = {
        "accent": shades.plain,
        "on-accent": shades.on_plain,
        "away": shades.away,
        "accent-on-light": shades.on_light,
        "accent-on-dark": shades.on_dark,
    }
    root = ";".join(f"--{name}:{value}" for name, value in values.items())
    base, own = (STYLES / f"{each}.css" for each in ("base", template.name))
    return f":root{{{root}}}\n{base.read_text('utf-8')}{own.read_text('utf-8')}"


def _icon(site: SitePages) -> str:
    shades = accent(site.config.accent_color)
    square = element("rect", width="64", height="64", rx="14", fill=shades.plain)
    letter = element(
        "text",
        site.title.strip()[:1].upper(),
        x="32",
        y="45",
        font_family="sans-serif",
        font_size="38",
        font_weight="700",
        text_anchor="middle",
        fill=shades.on_plain,
    )
    return str(element("svg", square, letter, xmlns="http://www.w3.org/2000/svg", viewBox="0 0 64 64"))
