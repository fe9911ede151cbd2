// silu_and_mul: out[row, c] = silu(a) * b with a = input[row, c] and b = input[row, HIDDEN + c].

#[cutile::module]
pub mod silu_and_mul_module {
    use cutile::core::*;

    fn widen(value: i32) -> Tile<i64, { [] }> {
        let value: Tile<i32, { [] }> = scalar_to_tile(value);
        let value: Tile<i64, { [] }> = exti(value);
        value
    }

    /// The same bits read as unsigned: a negative index becomes one that is far out of bounds.
    fn widen_unsigned(value: i32) -> Tile<u64, { [] }> {
        let value: Tile<i32, { [] }> = scalar_to_tile(value);
        let value: Tile<u64, { [] }> = exti(value);
        value
    }

    /// The lanes of `(row, column)` inside an array of `rows` by `columns`.
    fn inside<const N: i32>(
        row: i32,
        column: Tile<i32, { [N] }>,
        rows: i32,
        columns: i32,
    ) -> Tile<bool, { [N] }> {
        let row: Tile<u64, { [1] }> = widen_unsigned(row).reshape(const_shape![1]);
        let row: Tile<u64, { [N] }> = row.broadcast(const_shape![N]);
        let rows: Tile<u64, { [1] }> = widen_unsigned(rows).reshape(const_shape![1]);
        let rows: Tile<u64, { [N] }> = rows.broadcast(const_shape![N]);
        let row_inside: Tile<bool, { [N] }> = cmpi(row, rows, predicate::LessThan);
        let column: Tile<u64, { [N] }> = exti(column);
        let columns: Tile<u64, { [1] }> = widen_unsigned(columns).reshape(const_shape![1]);
        let columns: Tile<u64, { [N] }> = columns.broadcast(const_shape![N]);
        let column_inside: Tile<bool, { [N] }> = cmpi(column, columns, predicate::LessThan);
        row_inside & column_inside
    }

    /// Addresses of `(row, column)` in a row-major array.
    fn addresses<E: ElementType, const N: i32>(
        base: *mut E,
        row: i32,
        column: Tile<i32, { [N] }>,
        row_stride: i32,
    ) -> PointerTile<*mut E, { [N] }> {
        let row: Tile<i64, { [1] }> = widen(row).reshape(const_shape![1]);
        let row: Tile<i64, { [N] }> = row.broadcast(const_shape![N]);
        let stride: Tile<i64, { [1] }> = widen(row_stride).reshape(const_shape![1]);
        let stride: Tile<i64, { [N] }> = stride.broadcast(const_shape![N]);
        let column: Tile<i64, { [N] }> = exti(column);
        let offset: Tile<i64, { [N] }> = row * stride + column;
        let base: PointerTile<*mut E, { [] }> = pointer_to_tile(base);
        let base: PointerTile<*mut E, { [1] }> = base.reshape(const_shape![1]);
        let base: PointerTile<*mut E, { [N] }> = base.broadcast(const_shape![N]);
        base.offset_tile(offset)
    }

    /// One block per row. The parameters are the reference's own: each array with its sizes and strides.
    ///
    /// Lanes outside the row read nothing and write nothing, so what they hold does not matter.
    ///
    /// # Safety
    /// `input` and `output` point to arrays of the given sizes and strides, and do not overlap.
    #[cutile::entry()]
    pub unsafe fn silu_and_mul_row_wise<
        E: ElementType,
        const TILE_SIZE: i32,
        const TOTAL_HIDDEN_SIZE: i32,
    >(
        input: *mut E,
        input_rows: i32,
        input_columns: i32,
        input_row_stride: i32,
        _input_column_stride: i32,
        output: *mut E,
        output_rows: i32,
        output_columns: i32,
        output_row_stride: i32,
        _output_column_stride: i32,
    ) {
        let row: i32 = get_tile_block_id().0;
        let column: Tile<i32, { [TILE_SIZE] }> = iota(const_shape![TILE_SIZE]);
        let hidden: Tile<i32, { [TILE_SIZE] }> =
            broadcast_scalar(TOTAL_HIDDEN_SIZE, const_shape![TILE_SIZE]);
        let gate_column: Tile<i32, { [TILE_SIZE] }> = column;
        let value_column: Tile<i32, { [TILE_SIZE] }> = column + hidden;

        let gate_inside: Tile<bool, { [TILE_SIZE] }> =
            inside(row, gate_column, input_rows, input_columns);
        let gate_at: PointerTile<*mut E, { [TILE_SIZE] }> =
            addresses(input, row, gate_column, input_row_stride);
        let (gate, _gate_read): (Tile<E, { [TILE_SIZE] }>, Token) = load_ptr_tko(
            gate_at,
            ordering::Weak,
            None::<scope::TileBlock>,
            Some(gate_inside),
            None::<E>,
            None::<Token>,
            Latency::<0>,
        );
        let value_inside: Tile<bool, { [TILE_SIZE] }> =
            inside(row, value_column, input_rows, input_columns);
        let value_at: PointerTile<*mut E, { [TILE_SIZE] }> =
            addresses(input, row, value_column, input_row_stride);
        let (value, _value_read): (Tile<E, { [TILE_SIZE] }>, Token) = load_ptr_tko(
            value_at,
            ordering::Weak,
            None::<scope::TileBlock>,
            Some(value_inside),
            None::<E>,
            None::<Token>,
            Latency::<0>,
        );
        let gate: Tile<f32, { [TILE_SIZE] }> = convert_tile(gate);
        let value: Tile<f32, { [TILE_SIZE] }> = convert_tile(value);

        let one: Tile<f32, { [TILE_SIZE] }> = constant(1.0f32, const_shape![TILE_SIZE]);
        let log2_e: Tile<f32, { [TILE_SIZE] }> = constant(1.4426950408889634f32, const_shape![TILE_SIZE]);
        let negated: Tile<f32, { [TILE_SIZE] }> = negf(gate);
        let exponent: Tile<f32, { [TILE_SIZE] }> =
            mulf(negated, log2_e, rounding::NearestEven, ftz::Enabled);
        let power: Tile<f32, { [TILE_SIZE] }> = exp2(exponent, ftz::Enabled);
        let denominator: Tile<f32, { [TILE_SIZE] }> = one + power;
        let sigmoid: Tile<f32, { [TILE_SIZE] }> = true_div(one, denominator);
        let result: Tile<f32, { [TILE_SIZE] }> = gate * sigmoid * value;
        let result: Tile<E, { [TILE_SIZE] }> = convert_tile(result);

        let output_inside: Tile<bool, { [TILE_SIZE] }> =
            inside(row, column, output_rows, output_columns);
        let output_at: PointerTile<*mut E, { [TILE_SIZE] }> =
            addresses(output, row, column, output_row_stride);
        let _written: Token = store_ptr_tko(
            output_at,
            result,
            ordering::Weak,
            None::<scope::TileBlock>,
            Some(output_inside),
            None::<Token>,
            Latency::<0>,
        );
    }
}
