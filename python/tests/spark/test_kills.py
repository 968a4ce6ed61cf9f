"""A query that is killed releases what it would have released, once; and the checks that say so can fail."""

import base64
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from kill_checks import Found, faults, find_key
from kills import CLUSTER, Point, Trial, kill_all

EXPECTED: Any = {(step, key): (step + 0.5, 1.0, step - 1.0, step + 2.0) for step in range(4) for key in ("a", "b")}


def shown() -> Found:
    """All releases in two batches, and what a writer of the second left when it died."""
    halves = [[(name, numbers) for name, numbers in EXPECTED.items() if name[0] // 2 == half] for half in range(2)]
    return {"batch=1": halves[0], "batch=2": halves[1], "_writing-2-abc": halves[1][:3]}


def test_deaths_of_executors_and_drivers_change_no_release(tmp_path: Path) -> None:
    trial = Trial(tmp_path / "trial", CLUSTER, seed=1, files=3, hand_over_key=True)
    assert not trial.run([Point("executor", 1), Point("written", 2)])
    # The query may resume on another machine: it needs only its checkpoint.
    trial.master = "local[2]"
    kill_all(trial, [[Point("shown", 3)]], time.monotonic())
    assert [point["kind"] for point in trial.struck] == ["executor", "written", "shown"]
    assert trial.tasks_lost > 0


def test_releases_as_they_must_be_have_no_faults() -> None:
    assert faults(shown(), EXPECTED, {}, is_finished=True) == []
    assert faults(shown(), EXPECTED, shown(), is_finished=True) == []


@pytest.mark.parametrize("place", ["batch=2", "_writing-2-abc"])
def test_a_changed_release_is_a_fault_wherever_it_lies(place: str) -> None:
    found = shown()
    name, (estimate, *others) = found[place][0]
    found[place][0] = (name, (estimate + 1e-12, *others))  # type: ignore[assignment]
    (fault,) = faults(found, EXPECTED, {}, is_finished=True)
    assert "differs" in fault


def test_a_missing_release_is_a_fault_at_the_end() -> None:
    found = shown()
    found["batch=2"] = found["batch=2"][:-1]
    assert faults(found, EXPECTED, {}, is_finished=False) == []
    (fault,) = faults(found, EXPECTED, {}, is_finished=True)
    assert "missing" in fault


def test_a_release_that_is_gone_or_has_moved_is_a_fault_at_once() -> None:
    found = shown()
    del found["batch=1"]
    assert len(faults(found, EXPECTED, shown(), is_finished=False)) == 4
    # What was being written may go: nobody has seen it.
    found = shown()
    del found["_writing-2-abc"]
    assert faults(found, EXPECTED, shown(), is_finished=False) == []


def test_a_release_that_is_there_twice_is_a_fault() -> None:
    found = shown()
    found["batch=1"] = [*found["batch=1"], found["batch=1"][0]]
    (fault,) = faults(found, EXPECTED, {}, is_finished=True)
    assert "twice" in fault
    for place in ("batch=3", "_writing-3-abc"):
        found = shown()
        found[place] = found["batch=1"][:1]
        (fault,) = faults(found, EXPECTED, {}, is_finished=True)
        assert "in batch 1 and in batch 3" in fault


def test_a_release_of_other_steps_is_a_fault() -> None:
    found = shown()
    found["batch=3"] = [((4, "a"), (0.0, 1.0, -1.0, 1.0))]
    (fault,) = faults(found, EXPECTED, {}, is_finished=True)
    assert "not a release" in fault


def test_a_key_is_found_in_any_form(tmp_path: Path) -> None:
    key = bytes(range(100, 132))
    (tmp_path / "note").write_bytes(b"nothing of it: " + key[:-1])
    assert find_key(key, [tmp_path]) is None
    around = [base64.b64encode(b"x" * before + key + b"yz") for before in range(3)]
    for content in (b"<" + key + b">", key.hex().encode(), key.hex().upper().encode(), base64.urlsafe_b64encode(key), *around):
        (tmp_path / "note").write_bytes(b"text " + content)
        assert find_key(key, [tmp_path]) is not None
    (tmp_path / "note").unlink()
    with zipfile.ZipFile(tmp_path / "5.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("state", bytes(1000) + key.hex().encode() * 3)
    assert find_key(key, [tmp_path]) is not None
