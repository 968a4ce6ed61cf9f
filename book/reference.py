"""The reference pages of the book, made from the program's own `--help`.

`pages(program)` returns one Markdown page per command. The text of an option is the text that the
program prints, so a page cannot be out of date. The parser knows the layout of clap: an entry of a
list starts with `-`, `<` or `[`, and its description follows on the same line or deeper below. A
line that looks like an option and was not understood is an error, so nothing is lost silently.
"""

from __future__ import annotations

import html
import pathlib
import re
import subprocess

# `  -o, --output <FILE>  The file to write`: a short name, a long name, and a description after two
# or more spaces, or on the lines below.
VALUES = r"(?: ?<[^>]+>| ?\[=?<?[^\]]+\]|\.\.\.)*"
NAME = rf"(?:-\w, )?--[a-z][a-z-]*{VALUES}|-\w{VALUES}|<[^>]+>(?:\.\.\.)?|\[[^\]]+\](?:\.\.\.)?"
ENTRY = re.compile(rf"^ {{2,6}}(?P<name>{NAME})(?: {{2,}}(?P<text>.*))?$")
# `  research gamma   Bound the least error …` in a list of commands.
COMMAND = re.compile(r"^  (?P<name>[a-z]+(?: [a-z]+)*) {2,}(?P<text>[A-Z].*)$")
HEADING = re.compile(r"^[A-Z][A-Za-z ]*:$")
TABLE = ["| command | what it does |", "|---|---|"]
LOOKS_LIKE_OPTION = re.compile(r"^ {2,6}(?:-\w, )?--[a-z]")


def pages(program: str) -> dict[str, str]:
    """Markdown by command, in the order in which the program lists them."""
    texts = {command: help_text(program, command) for command in commands(program)}
    first = {"": overview(help_text(program, ""), texts)}
    return first | {command: page(command, text) for command, text in texts.items()}


def help_text(program: str, command: str) -> str:
    words = [program, *command.split(), "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=pathlib.Path(program).parent)
    return done.stdout.rstrip()


def commands(program: str, parent: str = "") -> list[str]:
    """Every command of the program, a parent before its children."""
    found: list[str] = []
    for line in help_text(program, parent).splitlines():
        listed = COMMAND.match(line)
        if listed is None:
            continue
        # The program's own help lists `research gamma`, of which `research` is the command.
        name = f"{parent} {listed['name'].split()[0]}".strip()
        if name.split()[-1] not in ("evertally", "help") and name not in found:
            found += [name, *commands(program, name)]
    return found


def file_name(command: str) -> str:
    return f"reference/{command.replace(' ', '-') or 'index'}.md"


def summary(text: str) -> str:
    return text.split("\n\n")[0].replace("\n", " ")


def overview(text: str, texts: dict[str, str]) -> str:
    rows = [row(name, name, summary(each)) for name, each in texts.items()]
    closing = text.split("\n\n")[-1].replace("\n", " ")
    parts = ["# Commands", prose(summary(text)), "\n".join([*TABLE, *rows]), prose(closing)]
    return "\n\n".join(parts) + "\n"


def row(shown: str, command: str, text: str) -> str:
    """A row of a table of commands, with a link to the command's page."""
    return f"| [`{shown}`]({pathlib.PurePosixPath(file_name(command)).name}) | {prose(text)} |"


def page(command: str, text: str) -> str:
    """One command: its summary, its usage, and every section of its help."""
    head, rest = text.split("Usage: ", 1)
    usage, _, rest = rest.partition("\n\n")
    parts = [f"# evertally {command}", sentence(head), f"```text\n{usage}\n```"]
    for title, lines in sections(rest):
        if title:
            parts.append(f"## {title}")
        if title == "Examples":
            parts.append(examples(lines))
        elif any(ENTRY.match(line) for line in lines):
            parts.append(entries(command, lines))
        elif any(COMMAND.match(line) for line in lines) and title == "Commands":
            parts.append(children(command, lines))
        else:
            parts.append(paragraphs(lines))
    return "\n\n".join(parts) + "\n"


def sentence(text: str) -> str:
    text = prose(" ".join(text.split()))
    return text if text.endswith((".", ":")) else f"{text}."


def sections(text: str) -> list[tuple[str, list[str]]]:
    """Headings with the lines below them. Text at the left margin that is no heading has no title."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if HEADING.match(line):
            found.append((line[:-1], []))
        elif line and not line.startswith(" ") and (not found or found[-1][0]):
            found.append(("", [line]))
        elif found:
            found[-1][1].append(line)
    return found


def entries(command: str, lines: list[str]) -> str:
    """Options or arguments as a list of definitions, each with an address of its own."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        entry = ENTRY.match(line)
        if entry is not None:
            found.append((entry["name"], [entry["text"] or ""]))
        elif LOOKS_LIKE_OPTION.match(line):
            raise ValueError(f"evertally {command} --help: cannot read the line {line!r}")
        elif found:
            found[-1][1].append(line.strip())
    items = []
    for name, text in found:
        anchor = re.sub(r"^.*--([a-z-]+).*$", r"\1", name) if "--" in name else re.sub(r"\W+", "", name).lower()
        items.append(f'<dt id="{anchor}"><a href="#{anchor}"><code>{html.escape(name)}</code></a></dt>')
        items.append(f"<dd>{description(text)}</dd>")
    return '<dl class="options">\n' + "\n".join(items) + "\n</dl>"


def description(lines: list[str]) -> str:
    """The text of an option, and below it the possible values and the default."""
    whole = "\n".join(lines)
    before, _, after = whole.partition("Possible values:\n")
    listed, _, after = after.partition("\n\n")
    text = f"{before} {after}"
    # A default may come after the list of values.
    notes = re.findall(r"\[(default|possible values|default with [^:]*): ([^\]]*)\]", text.replace("\n", " "))
    made = inline(" ".join(re.sub(r"\[(?:default|possible values)[^\]]*\]", "", text).split()))
    if listed:
        values = [value.replace("\n", " ").split(": ", 1) for value in listed.removeprefix("- ").split("\n- ")]
        items = (f"<li><code>{name}</code>: {inline(meaning.strip())}</li>" for name, meaning in values)
        made += f"<ul>{''.join(items)}</ul>"
    for kind, value in notes:
        label = "One of" if kind == "possible values" else kind.capitalize()
        words = value.split(", ") if kind == "possible values" else [value]
        shown = ", ".join(inline(word) if " " in word else f"<code>{html.escape(word)}</code>" for word in words)
        made += f'<span class="note">{label}: {shown}</span>'
    return made


def examples(lines: list[str]) -> str:
    """Prose at two spaces, commands at four. An example without prose has its commands at two."""
    parts: list[str] = []
    for block in "\n".join(lines).strip("\n").split("\n\n"):
        rows = block.splitlines()
        prose_rows = [
            row for row in rows if row.startswith("  ") and row[2] not in " " and not row.startswith("  evertally")
        ]
        code = [row for row in rows if row not in prose_rows]
        if prose_rows:
            parts.append(prose(" ".join(row.strip() for row in prose_rows)))
        margin = min((len(row) - len(row.lstrip()) for row in code), default=0)
        if code:
            parts.append("```sh\n" + "\n".join(row[margin:] for row in code) + "\n```")
    return "\n\n".join(parts)


def children(command: str, lines: list[str]) -> str:
    listed = [found for found in map(COMMAND.match, lines) if found is not None and found["name"] != "help"]
    return "\n".join([*TABLE, *(row(each["name"], f"{command} {each['name']}", each["text"]) for each in listed)])


def paragraphs(lines: list[str]) -> str:
    """Text at the left margin. Indented lines are a table that the program aligned with spaces."""
    parts = []
    for block in "\n".join(lines).strip("\n").split("\n\n"):
        indented = all(line.startswith("  ") for line in block.splitlines())
        parts.append(f"```text\n{block}\n```" if indented else prose(block.replace("\n", " ")))
    return "\n\n".join(parts)


def prose(text: str) -> str:
    """Escapes what Markdown would read as markup, and marks options as code."""
    text = text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_").replace("|", "\\|")
    return re.sub(r"(?<![\w`-])(--[a-z][a-z-]+)", r"`\1`", text)


def inline(text: str) -> str:
    """The same for HTML."""
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"(?<![\w>-])(--[a-z][a-z-]+)", r"<code>\1</code>", text)
