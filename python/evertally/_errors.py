"""What can go wrong, one class for each class of error in the library."""


class Error(Exception):
    """Every error of the library. Messages never carry a key, a true count or a noise value."""


class BadParameter(Error, ValueError):
    """Something was given that cannot be used."""


class Unsupported(Error):
    """The request is well formed, but nothing here can serve it."""


class HorizonSpent(Error):
    """No step is left: a further release would not be private."""


class BudgetSpent(Error):
    """The privacy budget of a population does not allow it."""


class BadState(Error):
    """A saved state is damaged, or belongs to another plan or key."""


class KeyReused(Error):
    """A key was used before for the same count with other data: the same noise on both would give their difference away."""


class SystemFailure(Error):
    """The machine failed; when it gives no randomness, there is no fallback."""


# Readers know them by the name under which they are imported.
for _error in (Error, BadParameter, Unsupported, HorizonSpent, BudgetSpent, BadState, KeyReused, SystemFailure):
    _error.__module__ = "evertally"
del _error
