"""What a person would do to the draft: both kernels place their tiles by one function, and load by another."""

import pathlib
import re

kernel = next(pathlib.Path().rglob("matmul_kernel/kernel.rs"))
text = kernel.read_text()

begin, end = text.index("    fn swizzle_2d("), text.index("    fn compute_bid(")
text = text[:begin] + text[end:]
placed = "    /// Where the tile of that number lies: down a group of rows, so that neighbours share what they read.\n"
text = text.replace("    fn compute_bid(", f"{placed}    fn compute_bid(")
text, times = re.subn(
    r"let \(bidx, bidy\) = swizzle_2d\(m, n, TILE_SIZE_M, TILE_SIZE_N\);",
    "let num_bid_m = ceil_div(m, TILE_SIZE_M);\n"
    "        let num_bid_n = ceil_div(n, TILE_SIZE_N);\n"
    "        let (bidx, bidy) = compute_bid(get_tile_block_id().0, 8 * num_bid_n, num_bid_m, 8);",
    text,
)
assert times == 1, times

load = re.compile(
    r"if LOAD_LATENCY >= 1 \{\s+let (\w)_view: Partition<E, \{ \[(\w+), (\w+)\] \}> =\s+\1_array\.partition\([^;]+;\s+"
    r"let \1: Tile<[^;]+?load_view_tko\(\s+&\1_view,\s+(\[\w+, \w+\]),[^;]+;\s+\1\s+\} else \{\s+\1_array\s+"
    r"\.partition\([^)]+\)\s+\.load\(\4\)\s+\}"
)
text, times = load.subn(r"load_hinted::<E, \2, \3, LOAD_LATENCY>(\1_array, \4)", text)
assert times == 4, times
helper = """    /// A tile of `array`, with a hint of its latency if there is one.
    fn load_hinted<E: ElementType, const ROWS: i32, const COLUMNS: i32, const LATENCY: i32>(
        array: &Tensor<E, { [-1, -1] }>,
        at: [i32; 2],
    ) -> Tile<E, { [ROWS, COLUMNS] }> {
        let tile: Tile<E, { [ROWS, COLUMNS] }> = if LATENCY >= 1 {
            let view: Partition<E, { [ROWS, COLUMNS] }> = array.partition(const_shape![ROWS, COLUMNS]);
            let tile: Tile<E, { [ROWS, COLUMNS] }> =
                load_view_tko(&view, at, ordering::Weak, scope::TileBlock, Some(LATENCY), tma::Enabled);
            tile
        } else {
            array.partition(const_shape![ROWS, COLUMNS]).load(at)
        };
        tile
    }

"""
at = text.index("    /// cuTile kernel for performing matrix multiplication")
kernel.write_text(text[:at] + helper + text[at:])
print("tiles are placed by one function; loading with a latency is said once and called 4 times")
