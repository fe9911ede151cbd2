from tilegym.backend.selector import get_current_backend
from tilegym.backend.selector import set_backend as set_backend

_REGISTRY = {}


def register_impl(name, backend):
    def keep(function):
        _REGISTRY[name, backend] = function
        return function

    return keep


def dispatch(name):
    return lambda *arguments, **options: _REGISTRY[name, get_current_backend()](*arguments, **options)
