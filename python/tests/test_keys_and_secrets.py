"""Keys, and that nothing secret is shown, copied or pickled."""

import copy
import os
import pickle
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evertally

KEY = evertally.NoiseKey.from_bytes(bytes(range(32)))


def test_keys_are_fresh_and_known_by_their_tags() -> None:
    keys = [evertally.NoiseKey.generate() for _ in range(8)]
    assert len({key.to_bytes() for key in keys}) == len({key.tag for key in keys}) == 8
    assert evertally.NoiseKey.from_bytes(keys[0].to_bytes()).tag == keys[0].tag and len(keys[0].tag) == 8
    assert evertally.NoiseKey.insecure_from_seed(3).tag == evertally.NoiseKey.insecure_from_seed(3).tag


@pytest.mark.parametrize("length", [0, 1, 31, 33, 64])
def test_keys_have_32_bytes(length: int) -> None:
    with pytest.raises(evertally.BadParameter, match="32 bytes"):
        evertally.NoiseKey.from_bytes(bytes(length))


def test_key_files_are_private(tmp_path: Path) -> None:
    path = tmp_path / "noise.key"
    KEY.to_file(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == KEY.to_bytes().hex() + "\n"
    assert evertally.NoiseKey.from_file(str(path)).tag == KEY.tag
    with pytest.raises(FileExistsError):
        KEY.to_file(path)
    path.chmod(0o644)
    with pytest.raises(evertally.BadParameter, match="chmod 600"):
        evertally.NoiseKey.from_file(path)
    with pytest.raises(FileNotFoundError):
        evertally.NoiseKey.from_file(tmp_path / "none")


@pytest.mark.parametrize("text", ["", "0f" * 31, "0f" * 33, "0g" * 32, "é" * 32, "+1" * 32])
def test_other_key_files_are_refused_without_being_shown(text: str, tmp_path: Path) -> None:
    path = tmp_path / "noise.key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(evertally.BadParameter, match="64 hexadecimal digits") as caught:
        evertally.NoiseKey.from_file(path)
    assert not text or text not in str(caught.value)


def holders_of_secrets() -> dict[str, Any]:
    """One of every object that holds a key, noise or a true total of 123456."""
    scalar = evertally.plan(10)
    keyed = evertally.plan(10, keys=["a", "b"])
    counter = evertally.Counter(scalar, KEY)
    counter.step(123456.0)
    sparse = evertally.SparseCounter(evertally.plan(10, open_keys=True), KEY)
    sparse.add("hidden name", 123456.0)
    keyed_counter = evertally.KeyedCounter(keyed, KEY)
    keyed_counter.step({"a": 123456.0})
    vectors = evertally.VectorCounter(evertally.plan(10, dimension=2, norm=1e6), KEY)
    vectors.step(np.array([123456.0, 0.0]))
    learner = evertally.Learner(evertally.LearningPlan(2, 10, radius=1.0, clip=1e6), KEY)
    learner.step(np.array([[123456.0, 0.0]]))
    found = evertally.DiscoveringCounter(evertally.discover(10), KEY)
    found.add("hidden name", 123456.0, 1)
    admission = evertally.Admission(evertally.plan(10, max_steps=1), KEY)
    admission.admit(["hidden name"], 0)
    presence = evertally.Presence(evertally.plan(10, max_flips=2), "1970-01-01", "1d", window=2)
    presence.add(["hidden name"], np.array([123456]))
    return {
        "found": found,
        "admission": admission,
        "presence": presence,
        "key": KEY,
        "noise": evertally.NoiseStream(2, KEY, horizon=10),
        "counter": counter,
        "vectors": vectors,
        "keyed": keyed_counter,
        "sparse": sparse,
        "learner": learner,
    }


@pytest.mark.parametrize("name", holders_of_secrets())
def test_what_holds_secrets_shows_none_and_cannot_be_copied(name: str) -> None:
    holder = holders_of_secrets()[name]
    for text in (repr(holder), str(holder), f"{holder}"):
        assert "123456" not in text and "hidden" not in text and KEY.to_bytes().hex()[:8] not in text
        assert "0, 1, 2" not in text and "\\x01\\x02" not in text
    attempts: list[Callable[[Any], Any]] = [pickle.dumps, copy.copy, copy.deepcopy]
    for attempt in attempts:
        with pytest.raises(TypeError):
            attempt(holder)
    assert not hasattr(holder, "__dict__")


def test_a_secret_in_the_wrong_place_is_not_repeated() -> None:
    secret = os.urandom(32)
    for attempt in (
        lambda: evertally.plan(secret),  # type: ignore[arg-type]
        lambda: evertally.plan(10, mechanism=secret),  # type: ignore[arg-type]
        lambda: evertally.plan(10, workload=secret),  # type: ignore[arg-type]
        lambda: evertally.NoiseStream(secret, horizon=10),  # type: ignore[arg-type]
        lambda: evertally.NoiseStream(3, horizon=10).next(out=secret),  # type: ignore[arg-type]
        lambda: evertally.Odometer("p").spend("n", secret),  # type: ignore[arg-type]
    ):
        with pytest.raises((evertally.BadParameter, TypeError)) as caught:
            attempt()
        assert repr(secret)[2:10] not in str(caught.value)


def test_errors_have_their_classes() -> None:
    for error in (
        evertally.BadParameter,
        evertally.Unsupported,
        evertally.HorizonSpent,
        evertally.BudgetSpent,
        evertally.BadState,
        evertally.KeyReused,
        evertally.SystemFailure,
    ):
        assert issubclass(error, evertally.Error) and error.__module__ == "evertally"
    assert issubclass(evertally.BadParameter, ValueError)
