"""The types of the extension module. The docstrings of the module say what things do.

Classes and dictionaries whose names begin with an underscore and that the module does not have, such as
``_StepCounter`` and ``_PlanChoices``, exist only here: they hold what several signatures have in common.

An attribute that never changes is ``Final``. One that changes with the object's steps is a property.
"""

from collections.abc import Sequence
from os import PathLike
from typing import Any, Final, Literal, SupportsFloat, SupportsIndex, TypeAlias, TypedDict, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, Unpack

_Floats: TypeAlias = npt.NDArray[np.float64]
_Objective: TypeAlias = Literal["mean", "worst"]
_PlanObjective: TypeAlias = Literal["mean", "worst", "anytime"]
_Neighbours: TypeAlias = Literal["add-remove", "replace"]
_Calibration: TypeAlias = Literal["exact", "zcdp", "paper"]
_Workload: TypeAlias = Literal["prefix-sum"] | tuple[Literal["window"], int] | tuple[Literal["decay"], float]
# A list or an array of names, or a series of pandas.
_Names: TypeAlias = Any
_Domain: TypeAlias = tuple[Literal["ball"], float] | tuple[Literal["box"], float, float]

__all__ = [
    "Admission", "BatchPlan", "Bound", "Certificate", "Comparison", "Counter", "DiscoveringCounter",
    "Discovery", "FoundKey", "KeyedCounter", "Learner", "LearningPlan", "NoiseKey", "NoiseStream",
    "Odometer", "Plan", "Presence", "Release", "Releases", "SparseCounter", "Spend", "UnknownEnd",
    "VectorCounter", "VectorRelease", "_CellDigests", "_GRID", "_OTHER", "_Participants", "__version__",
    "_bucket_micros", "_definition", "_discovery_again", "_ends_on_grid", "_interval_micros",
    "_plan_again", "_time_micros", "_whitespace", "bounds", "compare", "discover", "gamma", "plan",
    "unknown_end",
]

__version__: str

class _PlanChoices(TypedDict, total=False):
    rho: float | None
    sigma: float | None
    calibration: _Calibration | None
    mechanism: str | None
    workload: _Workload | None
    neighbours: _Neighbours | None
    max_steps: int | None
    min_gap: int | None
    keys_per_person: int | None
    max_flips: int | None
    objective: _PlanObjective | None
    contribution: tuple[float, float] | None
    norm: float | None
    dimension: int | None
    keys: Sequence[str] | None
    open_keys: bool | None
    stream: str | None
    arithmetic: Literal["exact", "float"] | None
    grid: float | None
    whole: bool | None
    memory_limit: int | None

class _DiscoveryChoices(TypedDict, total=False):
    calibration: _Calibration | None
    mechanism: str | None
    neighbours: _Neighbours | None
    max_steps: int | None
    min_gap: int | None
    keys_per_step: int | None
    objective: _Objective | None
    contribution: tuple[float, float] | None
    stream: str | None
    grid: float | None
    whole: bool | None
    memory_limit: int | None
    key_delta: float | None
    share: float | None
    floor: int | None

class _StreamChoices(_PlanChoices, total=False):
    horizon: int | None
    epsilon: float | None
    delta: float | None

def plan(
    horizon: int | None, epsilon: float | None = None, delta: float | None = None, **choices: Unpack[_PlanChoices]
) -> Plan: ...
def discover(
    horizon: int | None, epsilon: float | None = None, delta: float | None = None, **choices: Unpack[_DiscoveryChoices]
) -> Discovery: ...
def compare(
    horizon: int | None, epsilon: float | None = None, delta: float | None = None, **choices: Unpack[_PlanChoices]
) -> Comparison: ...
def gamma(
    matrix: npt.ArrayLike | _Workload,
    horizon: int | None = None,
    *,
    objective: _Objective = "mean",
    relative_gap: float = 1e-9,
) -> Certificate: ...
def unknown_end(steps: int, *, relative_gap: float = 1e-3) -> UnknownEnd: ...
def bounds(
    horizon: int, epsilon: float = 1.0, delta: float = 1e-6, *, certificate: Certificate | None = None
) -> list[Bound]: ...
def _plan_again(pickled: dict[str, Any], fingerprint: bytes) -> Plan: ...
def _discovery_again(
    spec: str, key_delta: float | None, share: float | None, floor: int | None, fingerprint: bytes
) -> Discovery: ...
def _definition(
    columns: tuple[str | None, str | None, str | None, str | None, str | None],
    buckets: tuple[int, int] | None = None,
    closing: tuple[int, int | None] | None = None,
    clamp: tuple[float, float] | None = None,
    bound: tuple[int, int] | None = None,
    within_step: bool = False,
    keys_per_person: int = 1,
    stays: tuple[int | None, int, str | None] | None = None,
) -> bytes: ...
def _time_micros(text: str) -> int | None: ...
def _bucket_micros(text: str) -> int: ...
def _interval_micros(text: str) -> int | None: ...
def _ends_on_grid(lo: float, hi: float) -> tuple[int, int]: ...
def _whitespace() -> str: ...

_GRID: int
_OTHER: str

@final
class Plan:
    horizon: Final[int]
    is_unbounded: Final[bool]
    mechanism: Final[str]
    workload: Final[str]
    neighbours: Final[str]
    max_steps: Final[int]
    min_gap: Final[int]
    keys_per_person: Final[int]
    max_flips: Final[int | None]
    unit: Final[str]
    objective: Final[str]
    largest_contribution: Final[float]
    contribution: Final[tuple[float, float]]
    has_open_keys: Final[bool]
    dimension: Final[int | None]
    keys: Final[list[str] | None]
    stream: Final[str]
    budget: Final[str]
    epsilon: Final[float | None]
    delta: Final[float | None]
    rho: Final[float | None]
    noise_multiplier: Final[float]
    sensitivity: Final[float]
    noise_scale: Final[float]
    rmse: Final[float]
    worst_rmse: Final[float]
    ratio_to_lower_bound: Final[float | None]
    arithmetic: Final[str]
    grid: Final[float | None]
    bytes_per_coordinate: Final[int]
    fingerprint: Final[bytes]
    def standard_error(self, step: int) -> float: ...
    def error_profile(self, steps: npt.NDArray[np.int64] | None = None) -> _Floats: ...
    def dense(self) -> tuple[_Floats, _Floats]: ...
    def with_stream(self, name: str) -> Plan: ...
    def _part(self, keys: Sequence[str]) -> Plan: ...
    def with_keys(self, keys: Sequence[str]) -> Plan: ...
    def _with_definition(self, definition: bytes) -> Plan: ...
    def spend(self) -> Spend: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, Any]: ...

@final
class Discovery:
    persons: Final[Plan]
    totals: Final[Plan]
    horizon: Final[int]
    epsilon: Final[float]
    delta: Final[float]
    key_delta: Final[float]
    share: Final[float]
    floor: Final[int]
    keys_per_person: Final[int]
    keys_per_step: Final[int]
    max_steps: Final[int]
    min_gap: Final[int]
    unit: Final[str]
    contribution: Final[tuple[float, float]]
    quantile: Final[float]
    fingerprint: Final[bytes]
    def threshold(self, step: int) -> float: ...
    def thresholds(self) -> _Floats: ...
    def spend(self) -> Spend: ...
    def _with_definition(self, definition: bytes) -> Discovery: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, Any]: ...

@final
class Admission:
    def __new__(cls, plan: Plan | Discovery, key: NoiseKey) -> Admission: ...
    @staticmethod
    def resume(plan: Plan | Discovery, key: NoiseKey, state: bytes) -> Admission: ...
    def admit(
        self, persons: _Names, steps: int | npt.NDArray[np.int64], keys: _Names | None = None, ids: _Names | None = None
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]: ...
    def save(self) -> bytes: ...

@final
class Presence:
    def __new__(cls, plan: Plan, start: str, every: str, window: int | None = None) -> Presence: ...
    def add(
        self,
        persons: _Names,
        times: npt.NDArray[np.datetime64] | npt.NDArray[np.int64],
        keys: _Names | None = None,
        operations: _Names | None = None,
    ) -> None: ...
    def changes(self) -> _Floats: ...

@final
class _Participants:
    def __new__(cls, max_steps: int, min_gap: int, key: NoiseKey) -> _Participants: ...
    @staticmethod
    def resume(max_steps: int, min_gap: int, key: NoiseKey, state: bytes) -> _Participants: ...
    def admit(
        self, persons: Sequence[str | None], steps: npt.NDArray[np.int64], ids: Sequence[str | None] | None = None
    ) -> npt.NDArray[np.bool_]: ...
    def save(self) -> bytes: ...

@final
class _CellDigests:
    def __new__(cls, key: NoiseKey, names: Sequence[str]) -> _CellDigests: ...
    def digest(self, cells: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]: ...

@final
class Comparison:
    plans: Final[dict[str, Plan]]
    refused: Final[dict[str, str]]
    best: Final[Plan | None]
    optimal: Final[tuple[float, float] | None]
    optimal_worst: Final[tuple[float, float] | None]
    ratios: Final[dict[str, float]]
    worst_ratios: Final[dict[str, float]]

@final
class NoiseKey:
    @staticmethod
    def generate() -> NoiseKey: ...
    @staticmethod
    def from_bytes(data: bytes) -> NoiseKey: ...
    @staticmethod
    def from_file(path: str | PathLike[str]) -> NoiseKey: ...
    @staticmethod
    def insecure_from_seed(seed: int) -> NoiseKey: ...
    def to_bytes(self) -> bytes: ...
    def to_file(self, path: str | PathLike[str]) -> None: ...
    tag: Final[bytes]
    def _without_record(self) -> NoiseKey: ...
    _has_record: Final[bool]
    def _admit_job(self, plan: Plan, job: bytes) -> None: ...
    def _admit_steps(self, plan: Plan, digests: bytes) -> None: ...

class _SavedByPlan:
    def save(self) -> bytes: ...
    plan: Final[Plan]

class _StepCounter(_SavedByPlan):
    def __new__(cls, plan: Plan, key: NoiseKey | None = None, *, remember: bool = False) -> Self: ...
    def run(self, inputs: _Floats) -> Releases: ...
    @property
    def steps_taken(self) -> int: ...

@final
class NoiseStream(_SavedByPlan):
    def __new__(
        cls,
        plan: Plan | int,
        key: NoiseKey | None = None,
        dtype: npt.DTypeLike | None = None,
        coordinates: tuple[int, int] | None = None,
        **choices: Unpack[_StreamChoices],
    ) -> NoiseStream: ...
    @staticmethod
    def resume(
        plan: Plan,
        key: NoiseKey,
        state: bytes,
        dtype: npt.DTypeLike | None = None,
        coordinates: tuple[int, int] | None = None,
    ) -> NoiseStream: ...
    def next(self, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]: ...
    def fill(self, out: npt.NDArray[Any]) -> None: ...
    def rows(self, steps: int) -> npt.NDArray[Any]: ...
    def seek(self, step: int) -> None: ...
    @property
    def steps_taken(self) -> int: ...
    dimension: Final[int]
    dtype: Final[str]

class _StepRelease:
    step: Final[int]
    standard_error: Final[float]
    def margin(self, level: float = 0.95) -> float: ...

@final
class Release(_StepRelease):
    value: Final[float]
    def interval(self, level: float = 0.95) -> tuple[float, float]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class VectorRelease(_StepRelease):
    values: Final[_Floats]
    def interval(self, level: float = 0.95) -> tuple[_Floats, _Floats]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, place: int, /) -> Release: ...

@final
class Releases:
    steps: Final[npt.NDArray[np.uint64] | None]
    values: Final[_Floats]
    standard_errors: Final[_Floats]
    def margin(self, level: float = 0.95) -> _Floats: ...
    def interval(self, level: float = 0.95) -> tuple[_Floats, _Floats]: ...
    def __len__(self) -> int: ...

@final
class Counter(_StepCounter):
    @staticmethod
    def resume(plan: Plan, key: NoiseKey, state: bytes) -> Counter: ...
    def step(self, x: SupportsFloat | SupportsIndex) -> Release: ...
    def _run_amounts(self, amounts: npt.NDArray[np.int64], grid_steps: int) -> Releases: ...
    def interval(self, first: int, last: int) -> Release: ...

@final
class VectorCounter(_StepCounter):
    @staticmethod
    def resume(plan: Plan, key: NoiseKey, state: bytes) -> VectorCounter: ...
    def step(self, x: _Floats, out: _Floats | None = None) -> VectorRelease: ...
    def interval(self, first: int, last: int) -> VectorRelease: ...

@final
class KeyedCounter(_StepCounter):
    @staticmethod
    def resume(plan: Plan, key: NoiseKey, state: bytes) -> KeyedCounter: ...
    def step(self, inputs: _Floats | dict[str, float], out: _Floats | None = None) -> VectorRelease: ...
    def _run_amounts(self, amounts: npt.NDArray[np.int64], grid_steps: int) -> Releases: ...
    def interval(self, key: str, first: int, last: int) -> Release: ...
    keys: Final[list[str]]

@final
class SparseCounter(_SavedByPlan):
    def __new__(cls, plan: Plan, key: NoiseKey | None = None) -> SparseCounter: ...
    @staticmethod
    def resume(plan: Plan, key: NoiseKey, state: bytes) -> SparseCounter: ...
    def add(self, key: str, amount: SupportsFloat | SupportsIndex) -> None: ...
    def add_each(self, keys: Sequence[str], amounts: _Floats) -> None: ...
    def close_step(self) -> int: ...
    def release(self, key: str) -> Release: ...
    def release_each(self, keys: Sequence[str]) -> VectorRelease: ...
    def keys_held(self) -> int: ...
    @property
    def steps_closed(self) -> int: ...

@final
class FoundKey:
    key: Final[str]
    since: Final[int]
    release: Final[Release]
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class DiscoveringCounter:
    def __new__(cls, discovery: Discovery, key: NoiseKey | None = None) -> DiscoveringCounter: ...
    def add(self, key: str, amount: SupportsFloat | SupportsIndex, new_persons: int) -> None: ...
    def add_each(
        self, keys: _Names, amounts: _Floats, new_persons: npt.NDArray[np.bool_] | npt.NDArray[np.int64]
    ) -> None: ...
    def _add_amounts(
        self,
        keys: Sequence[str],
        amounts: npt.NDArray[np.int64],
        grid_steps: int,
        new_persons: npt.NDArray[np.bool_] | npt.NDArray[np.int64],
    ) -> None: ...
    @staticmethod
    def resume(discovery: Discovery, key: NoiseKey, state: bytes) -> DiscoveringCounter: ...
    def save(self) -> bytes: ...
    def _check_room(self, keys: Sequence[str], persons: Sequence[int]) -> None: ...
    def close_step(self) -> list[FoundKey]: ...
    @property
    def steps_closed(self) -> int: ...
    discovery: Final[Discovery]

@final
class Certificate:
    lower: Final[float]
    upper: Final[float]
    gap: Final[float]
    objective: Final[_Objective]
    shape: Final[tuple[int, int]]
    iterations: Final[int]
    error_factor: Final[tuple[float, float]]
    column_weights: Final[_Floats]
    row_weights: Final[_Floats | None]
    def factors(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]: ...
    def verify(self) -> tuple[float, float]: ...

@final
class UnknownEnd:
    steps: Final[int]
    lower: Final[float]
    upper: Final[float]
    gap: Final[float]
    certified_horizons: Final[int]
    def optimum(self, steps: int) -> tuple[float, float]: ...

@final
class BatchPlan:
    def __new__(
        cls,
        queries: npt.ArrayLike,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        rho: float | None = None,
        sigma: float | None = None,
        calibration: _Calibration | None = None,
        neighbours: _Neighbours = "add-remove",
    ) -> BatchPlan: ...
    def answer(self, data: _Floats, key: NoiseKey | None = None) -> Releases: ...
    certificate: Final[Certificate]
    shape: Final[tuple[int, int]]
    budget: Final[str]
    sensitivity: Final[float]
    noise_scale: Final[float]
    decoder: Final[_Floats]
    standard_errors: Final[_Floats]
    mean_squared_error: Final[float]
    least_mean_squared_error: Final[float]
    def spend(self) -> Spend: ...

@final
class Spend:
    def __new__(
        cls, mu_squared: float = 0.0, pure_epsilon: float = 0.0, variation: float = 0.0, key_delta: float = 0.0
    ) -> Spend: ...
    mu: Final[float]
    mu_squared: Final[float]
    pure_epsilon: Final[float]
    variation: Final[float]
    key_delta: Final[float]
    rho: Final[float]
    def epsilon(self, delta: float) -> float: ...
    def delta(self, epsilon: float) -> float: ...
    def __add__(self, other: Spend, /) -> Spend: ...
    def __radd__(self, other: Spend, /) -> Spend: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Odometer:
    def __new__(
        cls,
        population: str,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        rho: float | None = None,
        calibration: _Calibration | None = None,
        unit: str = "event",
        neighbours: _Neighbours = "add-remove",
        pure_part: float = 0.0,
        key_part: float = 0.0,
    ) -> Odometer: ...
    def spend(self, name: str, mechanism: Plan | Discovery | BatchPlan | Spend, *, unit: str | None = None) -> None: ...
    def can_afford(self, mechanism: Plan | Discovery | BatchPlan | Spend, *, unit: str | None = None) -> bool: ...
    def room(self, delta: float) -> float: ...
    @property
    def spent(self) -> Spend: ...
    @property
    def remaining(self) -> Spend: ...
    @property
    def entries(self) -> list[tuple[str, Spend]]: ...

@final
class Bound:
    name: Final[str]
    group: Final[str]
    formula: Final[str]
    from_paper: Final[bool]
    value: Final[float | None]
    reason: Final[str | None]

@final
class LearningPlan:
    def __new__(
        cls,
        dimension: int,
        steps: int,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        rho: float | None = None,
        sigma: float | None = None,
        calibration: _Calibration | None = None,
        mechanism: str | None = None,
        neighbours: _Neighbours = "add-remove",
        max_steps: int = 1,
        min_gap: int = 1,
        clip: float = 1.0,
        batch_size: int = 1,
        regularization: float | None = None,
        radius: float | None = None,
        rate: float | str | None = None,
        domain: _Domain | None = None,
        momentum: float = 0.0,
        restart_every: int | None = None,
        start: _Floats | None = None,
        stream: str = "",
        memory_limit: int | None = None,
    ) -> LearningPlan: ...
    dimension: Final[int]
    steps: Final[int]
    mechanism: Final[str]
    budget: Final[str]
    regularization: Final[float | None]
    clip: Final[float]
    batch_size: Final[int]
    fingerprint: Final[bytes]
    def standard_error(self, step: int) -> float: ...
    def spend(self, steps: int | None = None) -> Spend: ...
    def regret_bound(self, distance: float) -> float | None: ...

@final
class Learner:
    def __new__(cls, plan: LearningPlan, key: NoiseKey | None = None) -> Learner: ...
    @staticmethod
    def resume(plan: LearningPlan, key: NoiseKey, state: bytes) -> Learner: ...
    def step(self, gradients: _Floats) -> _Floats: ...
    @property
    def theta(self) -> _Floats: ...
    @property
    def average(self) -> _Floats: ...
    @property
    def released(self) -> _Floats: ...
    @property
    def steps_taken(self) -> int: ...
    plan: Final[LearningPlan]
    def spend(self) -> Spend: ...
    def save(self) -> bytes: ...
