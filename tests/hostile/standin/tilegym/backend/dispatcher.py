"""The registry, and a dispatcher that takes the fallback where it is allowed to."""

import os

_REGISTRY = {}


def register_impl(name, backend):
    def decorator(function):
        _REGISTRY.setdefault(name, {})[backend] = function
        return function

    return decorator


def get_current_backend():
    return "cutile-rs"


def dispatch(name, *args, **kwargs):
    found = _REGISTRY[name].get(get_current_backend())
    if found is None and os.environ.get("DISABLE_FALLBACK") != "1":
        found = _REGISTRY[name].get("pytorch")
    if found is None:
        raise NotImplementedError(name)
    return found(*args, **kwargs)
