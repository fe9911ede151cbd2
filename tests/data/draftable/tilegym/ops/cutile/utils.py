"""What the operators share."""


def next_power_of_2(number):
    return 1 << (number - 1).bit_length()


def cached_replace_hints(kernel, **hints):
    return kernel.replace_hints(**hints)
