"""Tries each configuration once and keeps the fastest."""

from types import SimpleNamespace

_best = {}


def _bench_config_cupti(kernel_fn, cfg, warmup=2, rep=10, kernel_filter=None):
    raise RuntimeError("there is no clock here")


def autotune_launch(kernel_fn, configs, key, kernel_name="unknown"):
    if (kernel_name, key) not in _best:
        timed = [(_bench_config_cupti(kernel_fn, config)[1], place) for place, config in enumerate(configs)]
        _best[kernel_name, key] = configs[min(timed)[1]]
    kernel_fn(_best[kernel_name, key])
    return SimpleNamespace(best_config=_best[kernel_name, key], tuning_record=[(_best[kernel_name, key], 0.002)])


def get_cache_stats():
    return {str(key): {} for key in _best}
