"""Which implementation a call goes to."""

_chosen = "cutile"
_REGISTRY = {}


def register_impl(name, backend):
    def register(function):
        _REGISTRY.setdefault(name, {})[backend] = function
        return function

    return register


def dispatch(name):
    return lambda *args, **kwargs: _REGISTRY[name][_chosen](*args, **kwargs)


def set_backend(backend):
    global _chosen
    _chosen = backend
