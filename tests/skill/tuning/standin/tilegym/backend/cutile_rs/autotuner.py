from types import SimpleNamespace as TunedResult  # noqa: F401


def autotune_launch(**_):
    raise AssertionError("the port's own tuner has no part in this")
