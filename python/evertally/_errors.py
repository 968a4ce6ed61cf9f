"""The exceptions: one class for each class of error in the library."""


class Error(Exception):
    """The base class of all errors. Messages never contain a key, a true count or a noise value."""


class BadParameter(Error, ValueError):
    """An argument cannot be used."""


class Unsupported(Error):
    """The request is well formed, but the library cannot serve it."""


class HorizonSpent(Error):
    """No step is left: a further release would not be private."""


class BudgetSpent(Error):
    """The privacy budget of a population does not allow it."""


class BadState(Error):
    """A saved state is damaged, or belongs to another plan or key."""


class KeyReused(Error):
    """A key was used before for the same count with other data. The same noise on both would reveal
    their difference.
    """


class SystemFailure(Error):
    """The system failed, for example because it gave no randomness. There is no fallback."""


# Tracebacks show the name under which users import them.
for _error in (Error, *Error.__subclasses__()):
    _error.__module__ = "evertally"
del _error
