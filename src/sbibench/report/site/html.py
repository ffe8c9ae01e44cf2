"""Pieces of HTML: all text is escaped here, so that names and reasons of results are only text."""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote


class Markup(str):
    """Text that is HTML already; all other text is escaped."""

    __slots__ = ()


def text(value: object) -> Markup:
    """Return a value as HTML: as it is if it is `Markup`, else escaped."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value), quote=True))


def tag(name: str, *content: object, **attributes: object) -> Markup:
    """Return an element; `class_` is its class, `data_x` its data-x, True an empty attribute."""
    told = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        told += f" {attribute}" if value is True else f' {attribute}="{text(value)}"'
    inner = "".join(text(c) for c in content)
    return Markup(f"<{name}{told}>{inner}</{name}>")


def prose(words: str) -> Markup:
    """Return text of a docstring, with what is between backticks as code."""
    parts = re.split(r"`+", words)
    return Markup("".join(tag("code", p) if i % 2 else text(p) for i, p in enumerate(parts)))


def link(content: object, to: str, **attributes: object) -> Markup:
    """Return a link; `to` is relative to the page, quoted where it must be."""
    return tag("a", content, href=to, **attributes)


def row(cells: Iterable[object], head: bool = False) -> Markup:  # noqa: FBT001, FBT002 - its only flag
    """Return a row of a table; cells that are elements of one stay as they are."""
    made = []
    for cell in cells:
        is_cell = isinstance(cell, Markup) and cell.startswith(("<td", "<th"))
        made.append(cell if is_cell else tag("th" if head else "td", cell))
    return tag("tr", *made)


def table(head: Sequence[object], rows: Iterable[Iterable[object]], **attributes: object) -> Markup:
    """Return a table that scrolls sideways where the page is narrow."""
    body = tag("tbody", *(row(r) for r in rows))
    made = tag("table", tag("thead", row(head, head=True)), body, **attributes)
    return tag("div", made, class_="scroll")


def select(label: str, name: str, options: Iterable[object]) -> Markup:
    """Return a labelled choice; the first option is chosen."""
    made = (tag("option", o, value=o) for o in options)
    return tag("label", label, " ", tag("select", *made, data_choice=name))


def slug(name: str) -> str:
    """Return a name that is safe as that of a file and in a link, and differs where names do."""
    unsafe = r"^\.+|[^A-Za-z0-9_.-]+"
    return re.sub(unsafe, lambda m: "~" + m[0].encode().hex() + "~", name) or "~"


def fragment(**values: object) -> str:
    """Return the part of an address after #, which pages read their choice from."""
    return "#" + "&".join(f"{k}={quote(str(v), safe='')}" for k, v in values.items())


@dataclass(frozen=True)
class Page:
    """A page: where it is, below the site's root, its title, and its content."""

    path: str
    title: str
    content: Sequence[object]
    scripts: Sequence[str] = ()
    """Relative to the root; loaded before the page's own script runs."""

    def html(self, site: str) -> str:
        """Return the whole page."""
        root = "../" * self.path.count("/")
        nav = tag(
            "nav",
            link(site, f"{root}index.html", class_="home"),
            link("Tasks", f"{root}tasks.html"),
            link("Algorithms", f"{root}algorithms.html"),
            tag(
                "button", "◐", type="button", id="theme", title="Light or dark", aria_label="Theme"
            ),
        )
        scripts = (tag("script", src=root + s) for s in (*self.scripts, "static/site.js"))
        title = self.title if self.title == site else f"{self.title} · {site}"
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<link rel="icon" href="data:,">'
            f'<link rel="stylesheet" href="{root}static/style.css">'
            f"{tag('title', title)}</head>"
            f"<body data-root={root or './'!r}>{tag('header', nav)}"
            f"{tag('main', tag('h1', self.title), *self.content)}{''.join(scripts)}</body></html>\n"
        )
