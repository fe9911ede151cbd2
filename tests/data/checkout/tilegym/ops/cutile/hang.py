"""An operator that never ends."""

import time

import cuda.tile as ct

from tilegym.backend import register_impl


@ct.kernel
def _never_launched_kernel(x):
    pass


@register_impl("hang_op", backend="cutile")
def hang_op(x):
    time.sleep(3600)


@register_impl("hang_on_strides", backend="cutile")
def hang_on_strides(x):
    if not x.is_contiguous():
        time.sleep(3600)
