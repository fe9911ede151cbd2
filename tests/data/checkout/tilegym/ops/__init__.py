"""The operators."""

from tilegym.backend import dispatch
from tilegym.ops.cutile import hang, hostile, rows, scale  # noqa: F401

scale_by = dispatch("scale_by")
sum_rows = dispatch("sum_rows")
hostile_op = dispatch("hostile_op")
hang_op = dispatch("hang_op")
