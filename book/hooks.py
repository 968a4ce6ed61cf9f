"""What the book adds to the Markdown of `docs`, at build time.

- The reference of the commands, from the program itself (`reference.py`). The variable `EVERTALLY`
  is the path of the program.
- Files of other directories: `bench/*.md` and `python/README.md`. Their links, and links to them,
  are written for readers of the repository and are translated here.
- Formulas. `$…$` and `$$…$$` become MathML, which browsers draw without any script.
- The copy button of a console copies its commands, without prompts and output.
"""

from __future__ import annotations

import html
import os
import pathlib
import re
import sys
from collections.abc import Callable
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_blocks  # noqa: E402  (they lie beside this file)
import reference  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
# In characters of its source.
LONG_FORMULA = 48
GENERATED: dict[str, str] = {}
TITLES: dict[str, str] = {}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Makes the reference and completes the navigation with what is found."""
    program = os.environ.get("EVERTALLY")
    if not program:
        raise PluginError("set EVERTALLY to the path of the program, or use cargo xtask book")
    made = reference.pages(program)
    GENERATED.update({reference.file_name(command): page for command, page in made.items()})
    commands = [{command or "Commands": reference.file_name(command)} for command in made]
    measured = [{title(path): str(path.relative_to(ROOT))} for path in measurements()]
    complete = {"Reference": commands, "Measurements": measured}
    config.nav = [{name: complete.get(name, pages) for name, pages in part.items()} for part in config.nav or []]
    TITLES.update(titles(config.nav))
    return config


def titles(pages: list[dict[str, Any]]) -> dict[str, str]:
    """The name of every page in the navigation, by its file."""
    found: dict[str, str] = {}
    for name, page in (item for each in pages for item in each.items()):
        found.update({page: name} if isinstance(page, str) else titles(page))
    return found


def measurements() -> list[pathlib.Path]:
    return sorted((ROOT / "bench").glob("*.md"))


def title(path: pathlib.Path) -> str:
    return path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").strip()


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, page in GENERATED.items():
        files.append(File.generated(config, name, content=page))
    for path in [*measurements(), ROOT / "python" / "README.md"]:
        name = str(path.relative_to(ROOT))
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Translates links between `docs` and its neighbours to where the book has their pages. A link
    whose text is the name of a file gets the title of the page instead."""
    if page.file.src_uri.startswith(("bench/", "python/")):
        markdown = markdown.replace("](../docs/", "](../")
    else:
        markdown = re.sub(r"\]\(\.\./(bench|python)/", r"](\1/", markdown)
    return re.sub(r"\[`?[\w/.-]+\.md`?\]\(([\w/.-]+\.md)(#[\w-]+)?\)", titled, markdown)


def titled(found: re.Match[str]) -> str:
    name = TITLES.get(found[1].removeprefix("../"))
    return f"[{name}]({found[1]}{found[2] or ''})" if name else found[0]


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Formulas to MathML, which the Markdown extension has marked, and what consoles copy."""
    content = re.sub(r'<span class="arithmatex">\\\((.*?)\\\)</span>', formula("inline"), content, flags=re.S)
    content = re.sub(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', formula("block"), content, flags=re.S)
    return re.sub(r'<div class="language-console highlight">(.*?)</div>', console, content, flags=re.S)


def formula(display: str) -> Callable[[re.Match[str]], str]:
    def replace(found: re.Match[str]) -> str:
        source = html.unescape(found[1]).strip()
        made = convert(source, display=display)
        # Norms are as high as one line. Inside of `\left` and `\right` they still grow.
        made = made.replace("<mo>&#x02016;</mo>", '<mo stretchy="false">&#x02016;</mo>')
        # The converter writes "ln x" without a space between the function and its argument.
        made = re.sub(r"(<mi>(?:ln|log|cosh|tanh)</mi>)(?=<mi>|<msup>|<mfrac>)", r'\1<mspace width="0.17em"/>', made)
        # A browser does not break formulas. On a narrow screen, a long one gets a line of its own.
        long = display == "inline" and len(source) > LONG_FORMULA
        return f'<span class="long">{made}</span>' if long else made

    return replace


def console(found: re.Match[str]) -> str:
    """A console with its commands told from their output, as `check_blocks` does."""
    lines = html.unescape(re.sub(r"<[^>]*>", "", found[1])).strip("\n").splitlines()
    commands = check_blocks.commands_of_block(list(enumerate(lines)), random=False)
    copied = html.escape("\n".join(command.text for command in commands))
    typed = {command.line + more for command in commands for more in range(command.text.count("\n") + 1)}
    shown = [
        typed_line(line) if number in typed else f'<span class="go">{html.escape(line)}</span>'
        for number, line in enumerate(lines)
    ]
    code = "\n".join(shown)
    return f'<div class="language-console highlight" data-copy="{copied}"><pre><code>{code}</code></pre></div>'


def typed_line(line: str) -> str:
    if line.startswith("$ "):
        return f'<span class="gp">$ </span>{html.escape(line[2:])}'
    return html.escape(line)
