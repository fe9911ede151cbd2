from tilegym.backend.selector import get_current_backend

_REGISTRY = {}


def register_impl(name, backend):
    def keep(function):
        _REGISTRY.setdefault(name, {})[backend] = function
        return function

    return keep


def dispatch(name):
    return lambda *arguments, **options: _REGISTRY[name][get_current_backend()](*arguments, **options)
