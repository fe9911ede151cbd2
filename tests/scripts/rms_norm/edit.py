"""What a person would do to the draft: the reciprocal of the root mean square, said twice, becomes a function."""

import pathlib
import re

kernel = next(pathlib.Path().rglob("rms_norm_kernel/kernel.rs"))
text = kernel.read_text()
said = re.compile(
    r"let n_f32: f32 = convert_scalar\(N\);\s+let n_f32_tile: Tile<f32, \{ \[\] \}> = scalar_to_tile\(n_f32\);\s+"
    r"let eps_tile: Tile<f32, \{ \[\] \}> = scalar_to_tile\(eps\);\s+"
    r"let rms_ = rsqrt\(rms_ / n_f32_tile \+ eps_tile, ftz::Disabled\);"
)
text, times = said.subn("let rms_ = reciprocal_rms(rms_, N, eps);", text)
assert times == 2, times
text = re.sub(r"\brms_\b(?!\()", "scale", text.replace("let rms_: Tile", "let squares: Tile"))
text = text.replace("reciprocal_rms(scale, N, eps)", "reciprocal_rms(squares, N, eps)")
helper = """    /// One divided by the root of the mean of `count` squares, whose sum is given, plus `eps`.
    fn reciprocal_rms(squares: Tile<f32, { [] }>, count: i32, eps: f32) -> Tile<f32, { [] }> {
        let count: f32 = convert_scalar(count);
        let count: Tile<f32, { [] }> = scalar_to_tile(count);
        let eps: Tile<f32, { [] }> = scalar_to_tile(eps);
        rsqrt(squares / count + eps, ftz::Disabled)
    }

"""
at = text.index("    /// Standard RMSNorm kernel")
kernel.write_text(text[:at] + helper + text[at:])
print(f"the reciprocal is said once now, and called {times} times")
