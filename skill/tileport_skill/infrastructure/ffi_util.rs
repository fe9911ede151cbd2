
// What drafted launchers share, made by `tileport infra`; no one of them needs all of it.

/// Whether sizes and strides are ones that a kernel can be told of: of 32 bits, and no array empty.
#[allow(dead_code)]
pub fn fits(array: &TensorDesc, rank: usize) -> bool {
    let most = i64::from(i32::MAX);
    let sizes = array.shape.iter().take(rank);
    let strides = array.strides.iter().take(rank);
    array.ndim as usize == rank
        && sizes
            .zip(strides)
            .all(|(size, stride)| (1..=most).contains(size) && (0..=most).contains(stride))
}

/// As `borrow_tensor`, of a tensor on device `device_id`.
///
/// # Safety
/// As for `borrow_tensor`, and `array` is on that device and `fits`.
#[allow(dead_code)]
pub unsafe fn borrow_tensor_on<E: DType>(
    array: &TensorDesc,
    device_id: i32,
) -> ManuallyDrop<Tensor<E>> {
    let axes = 0..array.ndim as usize;
    let shape = axes.clone().map(|axis| array.shape[axis] as i32).collect();
    let strides = axes.map(|axis| array.strides[axis] as i32).collect();
    let (bytes, device) = (array.nbytes(), device_id as usize);
    ManuallyDrop::new(unsafe { Tensor::from_raw_parts(array.ptr, bytes, device, shape, strides) })
}

/// What tensor cores read instead of an element type.
#[allow(dead_code)]
pub fn tensor_core_type(dtype: &str) -> &str {
    if dtype == "f32" { "tf32" } else { dtype }
}
