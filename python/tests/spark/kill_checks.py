"""What is looked for after a death: releases that differ, are missing or came twice, and a noise
key where none may be.
"""

import base64
import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pyarrow as pa
import pyarrow.parquet as pq
from cluster import Releases

# What each directory of releases holds, in the order in which it is read: a release that is there
# twice is twice in the list.
Found = dict[str, list[tuple[tuple[Any, ...], tuple[float, float, float, float]]]]

NUMBERS = ["estimate", "standard_error", "lower", "upper"]
PLACE = re.compile(r"(batch=|_writing-)(\d+)")


class Wrong(Exception):
    """What must hold does not."""


def read_releases(folder: Path) -> Found:
    """All releases under a directory, those that were being written when the writer died included.

    A file that has no end yet holds nothing that a reader could see; it may lie only where releases
    are being written.
    """
    found: Found = {}
    for path in sorted(folder.rglob("*.parquet")):
        place = path.relative_to(folder).parts[0]
        try:
            table = pq.ParquetFile(path).read()
        except (pa.ArrowInvalid, OSError) as error:
            if place.startswith("_writing-"):
                continue
            raise Wrong(f"{place} holds a file that cannot be read: {error}") from error
        columns = table.to_pydict()
        names = zip(columns["step"], columns["key"]) if "key" in columns else zip(columns["step"])
        found.setdefault(place, []).extend(zip(names, zip(*(columns[number] for number in NUMBERS))))
    return found


def faults(found: Found, expected: Releases, before: Found, is_finished: bool) -> list[str]:
    """Everything that is wrong with the releases that are found.

    expected: what one machine releases of the same events.
    before: what was found when it was last looked for. What lay in its place must be there still,
        and be the same.
    """
    wrong = []
    batches: dict[tuple[Any, ...], str] = {}
    for place, rows in found.items():
        matched = PLACE.match(place)
        if matched is None:
            wrong.append(f"there is {place}, which is not a batch")
            continue
        here = [name for name, _ in rows]
        wrong.extend(f"{name} is twice in {place}" for name in sorted({name for name in here if here.count(name) > 1}))
        for name, numbers in rows:
            if name not in expected:
                wrong.append(f"{name} in {place} is not a release of these events")
            elif _bits(numbers) != _bits(expected[name]):
                wrong.append(f"{name} in {place} differs from the release of one machine")
            # A batch that is made again must consist of the same steps, whether it was shown or
            # not.
            if batches.setdefault(name, matched[2]) != matched[2]:
                wrong.append(f"{name} is in batch {batches[name]} and in batch {matched[2]}")
    for place, rows in _shown(before).items():
        now = {name: _bits(numbers) for name, numbers in found.get(place, [])}
        wrong.extend(f"{name} was in {place} before and is not now" for name, _ in rows if name not in now)
        wrong.extend(f"{name} in {place} has changed" for name, numbers in rows if now.get(name, _bits(numbers)) != _bits(numbers))
    if is_finished:
        shown = {name for rows in _shown(found).values() for name, _ in rows}
        wrong.extend(f"{name} is missing" for name in expected if name not in shown)
    return wrong


def count_shown(found: Found) -> int:
    """How many releases readers see."""
    return sum(len(rows) for rows in _shown(found).values())


def find_key(key: bytes, folders: list[Path]) -> Optional[str]:
    """The first file that holds the key as bytes, in hexadecimal or in base64, also inside an archive."""
    forms = _forms(key)
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            for name, content in _contents(path):
                if any(form in content for form in forms):
                    return name
    return None


def _shown(found: Found) -> Found:
    return {place: rows for place, rows in found.items() if place.startswith("batch=")}


def _bits(numbers: tuple[float, float, float, float]) -> bytes:
    return struct.pack("<4d", *numbers)


def _forms(key: bytes) -> list[bytes]:
    # As bytes, in digits, and as Python prints bytes.
    forms = [key, key.hex().encode(), key.hex().upper().encode(), repr(key)[2:-1].encode()]
    for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
        for before in range(3):
            # In a longer text the key may begin at any of three places of a group, and its ends
            # share characters with what is around it.
            text = encode(bytes(before) + key)
            forms.append(text[-(-before * 4 // 3) : (before + len(key)) * 8 // 6])
    return forms


def _contents(path: Path) -> Iterator[tuple[str, bytes]]:
    yield str(path), path.read_bytes()
    if path.suffix == ".zip" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield f"{path}/{name}", archive.read(name)
