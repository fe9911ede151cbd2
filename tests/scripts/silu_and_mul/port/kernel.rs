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

    /// Whether `row` is one of `rows`, in as many lanes as `like` has.
    fn row_inside<const N: i32>(row: i32, rows: i32, _like: Tile<i32, { [N] }>) -> Tile<bool, { [N] }> {
        let row: Tile<u64, { [1] }> = widen_unsigned(row).reshape(const_shape![1]);
        let row: Tile<u64, { [N] }> = row.broadcast(const_shape![N]);
        let rows: Tile<u64, { [1] }> = widen_unsigned(rows).reshape(const_shape![1]);
        let rows: Tile<u64, { [N] }> = rows.broadcast(const_shape![N]);
        cmpi(row, rows, predicate::LessThan)
    }

    /// Where `row` begins, in as many lanes as `like` has.
    fn row_offset<const N: i32>(row: i32, row_stride: i32, _like: Tile<i32, { [N] }>) -> Tile<i64, { [N] }> {
        let row: Tile<i64, { [1] }> = widen(row).reshape(const_shape![1]);
        let row: Tile<i64, { [N] }> = row.broadcast(const_shape![N]);
        let stride: Tile<i64, { [1] }> = widen(row_stride).reshape(const_shape![1]);
        let stride: Tile<i64, { [N] }> = stride.broadcast(const_shape![N]);
        row * stride
    }

    /// Which of the `column`s are among `columns`.
    fn column_inside<const N: i32>(column: Tile<i32, { [N] }>, columns: i32) -> Tile<bool, { [N] }> {
        let column: Tile<u64, { [N] }> = exti(column);
        let columns: Tile<u64, { [1] }> = widen_unsigned(columns).reshape(const_shape![1]);
        let columns: Tile<u64, { [N] }> = columns.broadcast(const_shape![N]);
        cmpi(column, columns, predicate::LessThan)
    }

    /// Addresses of `column`s of the row that begins at `row_offset`.
    fn addresses<E: ElementType, const N: i32>(
        base: *mut E,
        row_offset: Tile<i64, { [N] }>,
        column: Tile<i32, { [N] }>,
    ) -> PointerTile<*mut E, { [N] }> {
        let column: Tile<i64, { [N] }> = exti(column);
        let offset: Tile<i64, { [N] }> = row_offset + column;
        let base: PointerTile<*mut E, { [] }> = pointer_to_tile(base);
        let base: PointerTile<*mut E, { [1] }> = base.reshape(const_shape![1]);
        let base: PointerTile<*mut E, { [N] }> = base.broadcast(const_shape![N]);
        base.offset_tile(offset)
    }

    /// One block per row. The parameters are the reference's own: each array with its sizes and strides.
    ///
    /// Lanes outside an array read zero and write nothing.
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
        // Sizes and strides of a tensor are never negative; the reference says so too.
        let input_rows: i32 = unsafe { assume_bounds_lower::<_, 0>(input_rows) };
        let input_columns: i32 = unsafe { assume_bounds_lower::<_, 0>(input_columns) };
        let input_row_stride: i32 = unsafe { assume_bounds_lower::<_, 0>(input_row_stride) };
        let output_rows: i32 = unsafe { assume_bounds_lower::<_, 0>(output_rows) };
        let output_columns: i32 = unsafe { assume_bounds_lower::<_, 0>(output_columns) };
        let output_row_stride: i32 = unsafe { assume_bounds_lower::<_, 0>(output_row_stride) };
        let row: i32 = get_tile_block_id().0;
        // 0.2.0 has no scalar of type E but one read out of a tile.
        let padding: Tile<E, { [1] }> = constant(E::ZERO, const_shape![1]);
        let padding: Tile<E, { [] }> = reduce_sum(padding, 0i32);
        let padding: E = tile_to_scalar(padding);
        let column: Tile<i32, { [TILE_SIZE] }> = iota(const_shape![TILE_SIZE]);
        let hidden: Tile<i32, { [TILE_SIZE] }> =
            broadcast_scalar(TOTAL_HIDDEN_SIZE, const_shape![TILE_SIZE]);
        let gate_column: Tile<i32, { [TILE_SIZE] }> = column;
        let value_column: Tile<i32, { [TILE_SIZE] }> = column + hidden;

        let gate_row_inside: Tile<bool, { [TILE_SIZE] }> = row_inside(row, input_rows, gate_column);
        let gate_row: Tile<i64, { [TILE_SIZE] }> = row_offset(row, input_row_stride, gate_column);
        let gate_column_inside: Tile<bool, { [TILE_SIZE] }> = column_inside(gate_column, input_columns);
        let gate_inside: Tile<bool, { [TILE_SIZE] }> = gate_row_inside & gate_column_inside;
        let gate_at: PointerTile<*mut E, { [TILE_SIZE] }> = addresses(input, gate_row, gate_column);
        let (gate, _gate_read): (Tile<E, { [TILE_SIZE] }>, Token) = load_ptr_tko(
            gate_at,
            ordering::Weak,
            None::<scope::TileBlock>,
            Some(gate_inside),
            Some(padding),
            None::<Token>,
            Latency::<0>,
        );
        let value_row_inside: Tile<bool, { [TILE_SIZE] }> = row_inside(row, input_rows, value_column);
        let value_row: Tile<i64, { [TILE_SIZE] }> = row_offset(row, input_row_stride, value_column);
        let value_column_inside: Tile<bool, { [TILE_SIZE] }> = column_inside(value_column, input_columns);
        let value_inside: Tile<bool, { [TILE_SIZE] }> = value_row_inside & value_column_inside;
        let value_at: PointerTile<*mut E, { [TILE_SIZE] }> = addresses(input, value_row, value_column);
        let (value, _value_read): (Tile<E, { [TILE_SIZE] }>, Token) = load_ptr_tko(
            value_at,
            ordering::Weak,
            None::<scope::TileBlock>,
            Some(value_inside),
            Some(padding),
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

        let output_row_inside: Tile<bool, { [TILE_SIZE] }> = row_inside(row, output_rows, column);
        let output_row: Tile<i64, { [TILE_SIZE] }> = row_offset(row, output_row_stride, column);
        let output_column_inside: Tile<bool, { [TILE_SIZE] }> = column_inside(column, output_columns);
        let output_inside: Tile<bool, { [TILE_SIZE] }> = output_row_inside & output_column_inside;
        let output_at: PointerTile<*mut E, { [TILE_SIZE] }> = addresses(output, output_row, column);
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

    /// One block per row: the gradients of both halves of `input`, with the forward's sigmoid computed anew.
    ///
    /// # Safety
    /// As for the forward kernel; `grad_a` and `grad_b` overlap nothing else.
    #[cutile::entry()]
    pub unsafe fn silu_and_mul_backward_row_wise<
        E: ElementType,
        const TILE_SIZE: i32,
        const TOTAL_HIDDEN_SIZE: i32,
    >(
        grad_output: *mut E,
        grad_output_rows: i32,
        grad_output_columns: i32,
        grad_output_row_stride: i32,
        _grad_output_column_stride: i32,
        input: *mut E,
        input_rows: i32,
        input_columns: i32,
        input_row_stride: i32,
        _input_column_stride: i32,
        grad_a: *mut E,
        grad_a_rows: i32,
        grad_a_columns: i32,
        grad_a_row_stride: i32,
        _grad_a_column_stride: i32,
        grad_b: *mut E,
        grad_b_rows: i32,
        grad_b_columns: i32,
        grad_b_row_stride: i32,
        _grad_b_column_stride: i32,
    ) {
        let grad_output_rows: i32 = unsafe { assume_bounds_lower::<_, 0>(grad_output_rows) };
        let grad_output_columns: i32 = unsafe { assume_bounds_lower::<_, 0>(grad_output_columns) };
        let grad_output_row_stride: i32 = unsafe { assume_bounds_lower::<_, 0>(grad_output_row_stride) };
        let input_rows: i32 = unsafe { assume_bounds_lower::<_, 0>(input_rows) };
        let input_columns: i32 = unsafe { assume_bounds_lower::<_, 0>(input_columns) };
        let input_row_stride: i32 = unsafe { assume_bounds_lower::<_, 0>(input_row_stride) };
        let grad_a_rows: i32 = unsafe { assume_bounds_lower::<_, 0>(grad_a_rows) };
        let grad_a_columns: i32 = unsafe { assume_bounds_lower::<_, 0>(grad_a_columns) };
        let grad_a_row_stride: i32 = unsafe { assume_bounds_lower::<_, 0>(grad_a_row_stride) };
        let grad_b_rows: i32 = unsafe { assume_bounds_lower::<_, 0>(grad_b_rows) };
        let grad_b_columns: i32 = unsafe { assume_bounds_lower::<_, 0>(grad_b_columns) };
        let grad_b_row_stride: i32 = unsafe { assume_bounds_lower::<_, 0>(grad_b_row_stride) };
        let row: i32 = get_tile_block_id().0;
        // 0.2.0 has no scalar of type E but one read out of a tile.
        let padding: Tile<E, { [1] }> = constant(E::ZERO, const_shape![1]);
        let padding: Tile<E, { [] }> = reduce_sum(padding, 0i32);
        let padding: E = tile_to_scalar(padding);
        let column: Tile<i32, { [TILE_SIZE] }> = iota(const_shape![TILE_SIZE]);
        let hidden: Tile<i32, { [TILE_SIZE] }> =
            broadcast_scalar(TOTAL_HIDDEN_SIZE, const_shape![TILE_SIZE]);
        let value_column: Tile<i32, { [TILE_SIZE] }> = column + hidden;

        let grad_row_inside: Tile<bool, { [TILE_SIZE] }> = row_inside(row, grad_output_rows, column);
        let grad_row: Tile<i64, { [TILE_SIZE] }> = row_offset(row, grad_output_row_stride, column);
        let grad_column_inside: Tile<bool, { [TILE_SIZE] }> = column_inside(column, grad_output_columns);
        let grad_inside: Tile<bool, { [TILE_SIZE] }> = grad_row_inside & grad_column_inside;
        let grad_at: PointerTile<*mut E, { [TILE_SIZE] }> = addresses(grad_output, grad_row, column);
        let (grad, _grad_read): (Tile<E, { [TILE_SIZE] }>, Token) = load_ptr_tko(
            grad_at,
            ordering::Weak,
            None::<scope::TileBlock>,
            Some(grad_inside),
            Some(padding),
            None::<Token>,
            Latency::<0>,
        );
        let grad: Tile<f32, { [TILE_SIZE] }> = convert_tile(grad);
        let gate_row_inside: Tile<bool, { [TILE_SIZE] }> = row_inside(row, input_rows, column);
        let gate_row: Tile<i64, { [TILE_SIZE] }> = row_offset(row, input_row_stride, column);
        let gate_column_inside: Tile<bool, { [TILE_SIZE] }> = column_inside(column, input_columns);
        let gate_inside: Tile<bool, { [TILE_SIZE] }> = gate_row_inside & gate_column_inside;
        let gate_at: PointerTile<*mut E, { [TILE_SIZE] }> = addresses(input, gate_row, column);
        let (gate, _gate_read): (Tile<E, { [TILE_SIZE] }>, Token) = load_ptr_tko(
            gate_at,
            ordering::Weak,
            None::<scope::TileBlock>,
            Some(gate_inside),
            Some(padding),
            None::<Token>,
            Latency::<0>,
        );
        let value_row_inside: Tile<bool, { [TILE_SIZE] }> = row_inside(row, input_rows, value_column);
        let value_row: Tile<i64, { [TILE_SIZE] }> = row_offset(row, input_row_stride, value_column);
        let value_column_inside: Tile<bool, { [TILE_SIZE] }> = column_inside(value_column, input_columns);
        let value_inside: Tile<bool, { [TILE_SIZE] }> = value_row_inside & value_column_inside;
        let value_at: PointerTile<*mut E, { [TILE_SIZE] }> = addresses(input, value_row, value_column);
        let (value, _value_read): (Tile<E, { [TILE_SIZE] }>, Token) = load_ptr_tko(
            value_at,
            ordering::Weak,
            None::<scope::TileBlock>,
            Some(value_inside),
            Some(padding),
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
        let silu: Tile<f32, { [TILE_SIZE] }> = gate * sigmoid;

        let value_grad: Tile<f32, { [TILE_SIZE] }> = grad * silu;
        let value_grad: Tile<E, { [TILE_SIZE] }> = convert_tile(value_grad);
        let value_grad_row_inside: Tile<bool, { [TILE_SIZE] }> = row_inside(row, grad_b_rows, column);
        let value_grad_row: Tile<i64, { [TILE_SIZE] }> = row_offset(row, grad_b_row_stride, column);
        let value_grad_column_inside: Tile<bool, { [TILE_SIZE] }> = column_inside(column, grad_b_columns);
        let value_grad_inside: Tile<bool, { [TILE_SIZE] }> = value_grad_row_inside & value_grad_column_inside;
        let value_grad_at: PointerTile<*mut E, { [TILE_SIZE] }> = addresses(grad_b, value_grad_row, column);
        let _value_grad_written: Token = store_ptr_tko(
            value_grad_at,
            value_grad,
            ordering::Weak,
            None::<scope::TileBlock>,
            Some(value_grad_inside),
            None::<Token>,
            Latency::<0>,
        );

        let negative_sigmoid: Tile<f32, { [TILE_SIZE] }> = negf(sigmoid);
        let rest: Tile<f32, { [TILE_SIZE] }> = one + negative_sigmoid;
        let slope: Tile<f32, { [TILE_SIZE] }> =
            fma(silu, rest, sigmoid, rounding::NearestEven, ftz::Disabled);
        let value_slope: Tile<f32, { [TILE_SIZE] }> = value * slope;
        let gate_grad: Tile<f32, { [TILE_SIZE] }> = grad * value_slope;
        let gate_grad: Tile<E, { [TILE_SIZE] }> = convert_tile(gate_grad);
        let gate_grad_row_inside: Tile<bool, { [TILE_SIZE] }> = row_inside(row, grad_a_rows, column);
        let gate_grad_row: Tile<i64, { [TILE_SIZE] }> = row_offset(row, grad_a_row_stride, column);
        let gate_grad_column_inside: Tile<bool, { [TILE_SIZE] }> = column_inside(column, grad_a_columns);
        let gate_grad_inside: Tile<bool, { [TILE_SIZE] }> = gate_grad_row_inside & gate_grad_column_inside;
        let gate_grad_at: PointerTile<*mut E, { [TILE_SIZE] }> = addresses(grad_a, gate_grad_row, column);
        let _gate_grad_written: Token = store_ptr_tko(
            gate_grad_at,
            gate_grad,
            ordering::Weak,
            None::<scope::TileBlock>,
            Some(gate_grad_inside),
            None::<Token>,
            Latency::<0>,
        );
    }
}
