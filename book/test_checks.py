"""Whether the checks of the book find what they look for.

    python -m unittest discover -s book

Each test plants one fault and expects it to be reported.
"""

from __future__ import annotations

import pathlib
import stat
import tempfile
import unittest

import check_blocks
import check_site
import reference


class Blocks(unittest.TestCase):
    """The commands of a page, with a program that prints a random number."""

    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.program = self.script("#!/bin/sh\necho 'total: 4711 of 12'\nexit ${1:-0}\n")

    def script(self, text: str) -> pathlib.Path:
        path = pathlib.Path(self.directory.name, "program")
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def faults(self, markdown: str) -> list[str]:
        page = pathlib.Path(self.directory.name, "page.md")
        page.write_text(markdown, encoding="utf-8")
        return check_blocks.check(self.program, page)

    def test_a_block_that_is_true_passes(self) -> None:
        self.assertEqual(self.faults("```console\n$ evertally\ntotal: 4711 of 12\n```\n"), [])

    def test_a_command_that_fails_is_found_and_named(self) -> None:
        found = self.faults("text\n\n```console\n$ evertally\n$ evertally 3\n```\n")
        self.assertEqual(len(found), 1)
        self.assertIn("page.md:5: `evertally 3` ended with 3", found[0])

    def test_output_that_is_not_printed_is_found(self) -> None:
        self.assertIn("'total: 4712 of 12'", self.faults("```console\n$ evertally\ntotal: 4712 of 12\n```\n")[0])

    def test_numbers_may_differ_only_after_the_word_random(self) -> None:
        block = "```console\n$ evertally\ntotal: -1,234.5 of 9\n```\n"
        self.assertEqual(len(self.faults(block)), 1)
        self.assertEqual(self.faults(f"<!-- random -->\n{block}"), [])
        words = block.replace("total", "sum")
        self.assertEqual(len(self.faults(f"<!-- random -->\n{words}")), 1)

    def test_the_word_random_is_for_one_block(self) -> None:
        block = "```console\n$ evertally\ntotal: 1 of 2\n```\n"
        self.assertEqual(len(self.faults(f"<!-- random -->\n{block}\n{block}")), 1)

    def test_dots_stand_for_text_and_for_lines(self) -> None:
        self.assertEqual(self.faults("```console\n$ evertally; evertally\n…\ntotal: … of 12\n```\n"), [])

    def test_output_must_be_in_the_order_shown(self) -> None:
        self.assertEqual(len(self.faults("```console\n$ echo a; echo b\nb\na\n```\n")), 1)

    def test_commands_share_a_shell_and_continue_after_a_backslash(self) -> None:
        page = '```console\n$ name=value\n```\n\n```console\n$ echo \\\n    "is $name"\nis value\n```\n'
        self.assertEqual(self.faults(page), [])

    def test_a_block_without_prompts_is_all_commands(self) -> None:
        self.assertEqual(len(self.faults("```console\ntrue\nfalse\n```\n")), 1)

    def test_skipped_blocks_and_other_languages_are_not_run(self) -> None:
        self.assertEqual(
            self.faults("<!-- not run: it takes hours -->\n```console\nfalse\n```\n\n```sh\nfalse\n```\n"), []
        )

    def test_a_shell_that_ends_early_is_a_fault(self) -> None:
        self.assertEqual(len(self.faults("```console\n$ exit 0\n$ true\n```\n")), 2)


class Site(unittest.TestCase):
    """The pages of a site."""

    def faults(self, **pages: str) -> list[str]:
        with tempfile.TemporaryDirectory() as directory:
            site = pathlib.Path(directory).resolve()
            for name, text in pages.items():
                pathlib.Path(site, f"{name}.html").write_text(text, encoding="utf-8")
            return check_site.faults(site)

    def test_links_that_lead_somewhere_pass(self) -> None:
        self.assertEqual(self.faults(a='<a href="b.html#x"></a><a href="https://example.org"></a>', b='<p id="x">'), [])

    def test_missing_pages_and_places_are_found(self) -> None:
        found = self.faults(a='<a href="c.html"></a><a href="b.html#y"></a><a href="#z"></a>', b="")
        self.assertEqual(len(found), 3)

    def test_whatever_is_loaded_from_elsewhere_is_found(self) -> None:
        found = self.faults(
            a='<script src="https://example.org/x.js"></script><link rel="stylesheet" href="//example.org/x.css">'
        )
        self.assertEqual(len(found), 2)


class Reference(unittest.TestCase):
    """The help of a command."""

    def test_every_option_has_a_place(self) -> None:
        options = "  -n, --name <N>  A name [default: x]\n      --quiet     Say nothing\n"
        text = f"Do it\n\nUsage: evertally do\n\nOptions:\n{options}"
        made = reference.page("do", text)
        self.assertIn('<dt id="name">', made)
        self.assertIn("Default: <code>x</code>", made)
        self.assertIn('<dt id="quiet">', made)

    def test_values_may_be_optional_or_repeated(self) -> None:
        options = (
            "      --color[=<WHEN>]  When to colour\n  -v, --verbose...      Say more\n      --to <A> <B>      Both"
        )
        made = reference.page("do", f"Do it\n\nUsage: evertally do\n\nOptions:\n{options}\n")
        self.assertIn("<code>--color[=&lt;WHEN&gt;]</code>", made)
        self.assertIn('<dt id="verbose">', made)
        self.assertIn("<code>--to &lt;A&gt; &lt;B&gt;</code>", made)

    def test_an_option_that_is_not_understood_is_an_error(self) -> None:
        text = "Do it\n\nUsage: evertally do\n\nOptions:\n  --name <N>  A name\n  --other=ODD one space\n"
        self.assertRaises(ValueError, reference.page, "do", text)


if __name__ == "__main__":
    unittest.main()
