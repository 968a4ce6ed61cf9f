"""Running totals of a sensitive stream under differential privacy, with nearly the least
possible error.

All expensive work happens once, in a plan. A counter of the plan takes one input and gives one
release per step.

>>> import evertally
>>> plan = evertally.plan(1000, epsilon=1.0, delta=1e-6)
>>> counter = evertally.Counter(plan, evertally.NoiseKey.generate())
>>> release = counter.step(12.0)
>>> low, high = release.interval(0.95)
>>> low < release.value < high
True

Steps are counted from zero. Arrays are read and written in place: they must be contiguous and, by
default, of float64.

=============================  ======================================================================
``plan``, ``compare``          all choices, checked, and their consequences: mechanism and errors
``Counter``                    running totals of one number per step; ``VectorCounter``, ``KeyedCounter`` and
                               ``SparseCounter`` for vectors, declared keys and open keys
``discover``                   plans for keys that nobody declared; ``DiscoveringCounter`` finds them
``Admission``, ``Presence``    which events of persons count, where persons are new, and who is present
``NoiseStream``                the noise alone, for callers who add it themselves
``Learner``                    private learning on numpy gradients; ``evertally.torch`` for PyTorch
``BatchPlan``                  any linear queries at once, on static data
``gamma``, ``bounds``          proven bounds on the least error of any mechanism; ``unknown_end`` for streams
                               that do not know when they end
``Odometer``, ``Spend``        the privacy cost of several plans for one population
``evertally.spark``            private running totals on a Spark cluster
``evertally.plots``            plots of error profiles and releases, with matplotlib
=============================  ======================================================================
"""

from evertally._errors import (
    BadParameter,
    BadState,
    BudgetSpent,
    Error,
    HorizonSpent,
    KeyReused,
    SystemFailure,
    Unsupported,
)
from evertally._native import (
    Admission,
    BatchPlan,
    Bound,
    Certificate,
    Comparison,
    Counter,
    DiscoveringCounter,
    Discovery,
    FoundKey,
    KeyedCounter,
    Learner,
    LearningPlan,
    NoiseKey,
    NoiseStream,
    Odometer,
    Plan,
    Presence,
    Release,
    Releases,
    SparseCounter,
    Spend,
    UnknownEnd,
    VectorCounter,
    VectorRelease,
    __version__,
    bounds,
    compare,
    discover,
    gamma,
    plan,
    unknown_end,
)

__all__ = [
    "Admission",
    "BadParameter",
    "BadState",
    "BatchPlan",
    "Bound",
    "BudgetSpent",
    "Certificate",
    "Comparison",
    "Counter",
    "DiscoveringCounter",
    "Discovery",
    "Error",
    "FoundKey",
    "HorizonSpent",
    "KeyReused",
    "KeyedCounter",
    "Learner",
    "LearningPlan",
    "NoiseKey",
    "NoiseStream",
    "Odometer",
    "Plan",
    "Presence",
    "Release",
    "Releases",
    "SparseCounter",
    "Spend",
    "SystemFailure",
    "UnknownEnd",
    "Unsupported",
    "VectorCounter",
    "VectorRelease",
    "__version__",
    "bounds",
    "compare",
    "discover",
    "gamma",
    "plan",
    "unknown_end",
]
