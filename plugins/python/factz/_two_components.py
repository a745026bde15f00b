"""Errors of functions of planes that are called with three components name the function for volumes."""

import functools
import inspect
from typing import Any, Callable, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def of_planes(volume: str) -> Callable[[F], F]:
    """Marks a function of planes whose twin for volumes has this name."""

    def decorate(function: F) -> F:
        kinds = [p.kind for p in inspect.signature(function).parameters.values()]
        most = kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD)

        @functools.wraps(function)
        def call(*arrays: Any, **options: Any) -> Any:
            if len(arrays) > most:
                raise TypeError(
                    "%s takes %d arrays and %d positional arguments are given: name the options (abs=0.1), and for "
                    "u, v and w call factz.%s" % (function.__name__, most, len(arrays), volume)
                )
            return function(*arrays, **options)

        return cast(F, call)

    return decorate
