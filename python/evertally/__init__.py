"""Running totals of a sensitive stream under differential privacy, at the least error that is provably possible.

Everything expensive happens once, in a plan; a counter made from it takes one input and gives one release a step.

>>> import evertally
>>> plan = evertally.plan(1000, epsilon=1.0, delta=1e-6)
>>> counter = evertally.Counter(plan, evertally.NoiseKey.generate())
>>> release = counter.step(12.0)
>>> low, high = release.interval(0.95)
>>> low < release.value < high
True

Steps are counted from zero. Arrays are read and written in place: they are contiguous and of float64 unless something else is said.

=============================  ===================================================================================
``plan``, ``compare``          all choices, checked, and what follows from them: the mechanism, its error at every step
``Counter``                    running totals of one number a step; ``VectorCounter``, ``KeyedCounter`` and
                               ``SparseCounter`` for vectors, declared keys and keys that come as they come
``NoiseStream``                the noise alone, for those who add it themselves
``Learner``                    private learning on numpy gradients; ``evertally.torch`` for PyTorch
``BatchPlan``                  any linear queries at once, on data that does not change
``gamma``, ``bounds``          the least error that any mechanism can have, proven
``Odometer``, ``Spend``        what several plans cost one population
``evertally.spark``            private running totals on a Spark cluster
``evertally.plots``            error profiles and releases drawn, where matplotlib is installed
=============================  ===================================================================================
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
    BatchPlan,
    Bound,
    Certificate,
    Comparison,
    Counter,
    KeyedCounter,
    Learner,
    LearningPlan,
    NoiseKey,
    NoiseStream,
    Odometer,
    Plan,
    Release,
    Releases,
    SparseCounter,
    Spend,
    VectorCounter,
    VectorRelease,
    __version__,
    bounds,
    compare,
    gamma,
    plan,
)

__all__ = [
    "BadParameter",
    "BadState",
    "BatchPlan",
    "Bound",
    "BudgetSpent",
    "Certificate",
    "Comparison",
    "Counter",
    "Error",
    "HorizonSpent",
    "KeyReused",
    "KeyedCounter",
    "Learner",
    "LearningPlan",
    "NoiseKey",
    "NoiseStream",
    "Odometer",
    "Plan",
    "Release",
    "Releases",
    "SparseCounter",
    "Spend",
    "SystemFailure",
    "Unsupported",
    "VectorCounter",
    "VectorRelease",
    "__version__",
    "bounds",
    "compare",
    "gamma",
    "plan",
]
