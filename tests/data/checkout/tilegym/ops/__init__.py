"""The operators."""

from tilegym.backend import dispatch
from tilegym.ops.cutile import hang, hostile, padded, rows, scale  # noqa: F401

scale_by = dispatch("scale_by")
sum_rows = dispatch("sum_rows")
hostile_op = dispatch("hostile_op")
padded_copy = dispatch("padded_copy")
hang_on_strides = dispatch("hang_on_strides")
hang_op = dispatch("hang_op")
