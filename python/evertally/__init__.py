"""Running totals of a sensitive stream under differential privacy, at the least error that is provably possible.

>>> import evertally
>>> plan = evertally.plan(1000, epsilon=1.0, delta=1e-6)
>>> noise = evertally.NoiseStream(plan, evertally.NoiseKey.generate())
>>> noise.next().shape
(1,)
"""

from evertally._errors import (
    BadParameter,
    BadState,
    BudgetSpent,
    Error,
    HorizonSpent,
    SystemFailure,
    Unsupported,
)
from evertally._native import NoiseKey, NoiseStream, Plan, Spend, __version__, plan

__all__ = [
    "BadParameter",
    "BadState",
    "BudgetSpent",
    "Error",
    "HorizonSpent",
    "NoiseKey",
    "NoiseStream",
    "Plan",
    "Spend",
    "SystemFailure",
    "Unsupported",
    "__version__",
    "plan",
]
