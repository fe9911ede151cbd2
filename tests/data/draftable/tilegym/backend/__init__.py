"""Which implementation a call goes to."""

_chosen = "cutile"
_implementations = {}


def register_impl(name, backend):
    def register(function):
        _implementations[name, backend] = function
        return function

    return register


def dispatch(name):
    return lambda *args, **kwargs: _implementations[name, _chosen](*args, **kwargs)


def set_backend(backend):
    global _chosen
    _chosen = backend


def is_backend_available(backend):
    return backend in ("cutile", "cutile-rs")
