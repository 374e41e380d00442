"""The base class of an estimator: scikit-learn's own where it is installed, the same few methods otherwise."""

from __future__ import annotations

import inspect
from typing import Any, Self

from discreet.errors import InvalidParameter, expected, nearest_name


class Parameters:
    """Parameters by the names of ``__init__``, as scikit-learn's pipelines and searches use them."""

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 (scikit-learn's signature)
        """The parameters by name."""
        del deep
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Other values for some parameters."""
        for name, value in params.items():
            if name not in self._names():
                cure = nearest_name(name, self._names())
                raise InvalidParameter(expected("a known parameter", "name", name, cure))
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        own = {n: v for n, v in self.get_params().items() if repr(v) != repr(defaults[n].default)}
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in own.items())})"


# A base class has to be there when the class is made, so scikit-learn is not imported inside of a function here.
# Nothing but dp.KMeans loads this module.
try:
    from sklearn.base import BaseEstimator, ClusterMixin
    from sklearn.exceptions import NotFittedError
except ImportError:
    Estimator: Any = Parameters
    Unfitted: Any = ValueError
else:
    Estimator = type("Estimator", (ClusterMixin, BaseEstimator), {})
    Unfitted = NotFittedError


class NotFitted(InvalidParameter, Unfitted):  # type: ignore[misc]  # which one depends on what is installed
    """An estimator that was used before it was fitted."""
