"""The scaling operator in TileGym's form of a benchmark: one report by names, one by indices, run when imported."""

import tilegym
import torch
import triton
import triton.testing

ALL_BACKENDS = [("cutile", "CuTile", ("orange", "-")), ("torch", "PyTorch", ("green", "-"))]
ALL_CONFIGS = [("torch", 1.0, "PyTorch"), ("cutile", 0.5, "CuTile halves"), ("cutile", 4.0, "CuTile quadruples")]
DEVICE = triton.runtime.driver.active.get_active_torch_device()


def report(x_names, x_vals, line_arg, line_vals, line_names, plot_name):
    return triton.testing.Benchmark(
        x_names=x_names,
        x_vals=x_vals,
        line_arg=line_arg,
        line_vals=line_vals,
        line_names=line_names,
        ylabel="GB/s",
        plot_name=plot_name,
        args={"dtype": torch.float32},
    )


@triton.testing.perf_report(
    [None, report(["N"], [2048, 4096], "backend", *zip(*[b[:2] for b in ALL_BACKENDS], strict=True), "doubled")]
)
def bench_doubled(N, backend, dtype):
    return timed(N, 2.0, backend, dtype)


@triton.testing.perf_report(report(["N"], [1000], "index", [0, 1, 2], [c[2] for c in ALL_CONFIGS], "by-table"))
def bench_by_table(N, index, dtype):
    backend, factor, _ = ALL_CONFIGS[index]
    return timed(N, factor, backend, dtype)


def timed(n, factor, backend, dtype):
    if backend == "torch":
        raise AssertionError("a line of another backend was run")
    tilegym.set_backend(backend)
    x = torch.randn((n,), device=DEVICE, dtype=dtype)
    ms, _, _ = triton.testing.do_bench_cudagraph(lambda: tilegym.ops.scale_by(x, factor), quantiles=[0.5, 0.2, 0.8])
    return 4 * n * 1e-9 / (ms * 1e-3)


bench_doubled.run(print_data=True)
