_current = "cutile"


def get_available_backends():
    return {"cutile"}


def is_triton_tileir_available():
    return False


def get_current_backend():
    return _current


def set_backend(name):
    global _current
    _current = name
