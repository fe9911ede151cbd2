//! What the crate's own launcher derives from an array's address, sizes and strides: one line in, one line out.

use cutile_compiler::specialization::{DivHint, compute_spec};
use serde::Deserialize;

use crate::problem::Problem;

#[derive(Deserialize)]
struct Array {
    address: u64,
    shape: Vec<i32>,
    strides: Vec<i32>,
}

pub fn derived(line: &str) -> Result<serde_json::Value, Problem> {
    let array: Array = serde_json::from_str(line).map_err(Problem::from_error)?;
    let bits = compute_spec(array.address, &array.shape, &array.strides, 0);
    let divisors = |hints: &[DivHint]| hints.iter().map(|hint| hint.divisor).collect::<Vec<_>>();
    Ok(serde_json::json!({
        "strides": bits.stride_one.iter().map(|&one| if one { 1 } else { -1 }).collect::<Vec<i32>>(),
        "shape_div": divisors(&bits.shape_div),
        "stride_div": divisors(&bits.stride_div),
        "stride_one": bits.stride_one,
        "base_div": bits.base_ptr_div.divisor,
        "disjoint": bits.elements_disjoint,
        "pointer_div": DivHint::from_ptr(array.address).divisor,
        "size_divs": array.shape.iter().map(|&size| DivHint::from_value(size).divisor).collect::<Vec<i32>>(),
    }))
}
