"""Checks the built site: every link leads somewhere, and no page asks another machine for anything.

    python book/check_site.py target/book

MkDocs checks the links of Markdown. This looks at the pages as a browser gets them, with the links
that the theme and the generated pages write.
"""

from __future__ import annotations

import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The addresses that a page defines, links to, and loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("next", "prev", "canonical"):
            self.loads.append(values["href"])
        self.loads += [values["src"]] if "src" in values else []


def faults(site: pathlib.Path) -> list[str]:
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for address in page.links + page.loads:
            parts = urllib.parse.urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loads and parts.scheme != "data":
                    found.append(f"{path.relative_to(site)} loads {address}")
                continue
            # The page for errors is shown at any address, so its links start at the root.
            start = site if parts.path.startswith("/") else path.parent
            target = (start / urllib.parse.unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.exists():
                found.append(f"{path.relative_to(site)} links to {address}, which does not exist")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                found.append(f"{path.relative_to(site)} links to {address}, which has no such place")
    for sheet in site.rglob("*.css"):
        for part in sheet.read_text(encoding="utf-8").split("url(")[1:]:
            address = part.split(")", 1)[0].strip("'\"")
            if address.startswith(("http:", "https:", "//")):
                found.append(f"{sheet.relative_to(site)} loads {address}")
    return found


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    site = pathlib.Path(sys.argv[1]).resolve()
    if not (site / "index.html").exists():
        print(f"{site} holds no site", file=sys.stderr)
        return 2
    found = faults(site)
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
