"""Takes the first configuration for the best."""


def autotune_launch(kernel_fn, configs, key, kernel_name="unknown"):
    hash(key)
    return kernel_fn(next(iter(configs)))
