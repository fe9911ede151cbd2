// The C functions of drafted, made by `tileport-skill draft`: one launch each.

use core::ffi::c_void;
use core::mem::ManuallyDrop;

use cuda_async::device_buffer::DevicePointer;
use cuda_core::{Device, Stream};
use cutile::half::bf16;
use cutile::prelude::*;
use cutile::tile_kernel::{CompileOptions, TileKernel};

use crate::ffi_util::{TensorDesc, rc};
use drafted_module::{
    below_kernel, box_kernel, centred_kernel, centred_kernel_2, either_rank_kernel,
    either_rank_kernel_2, flags_kernel, half_tile_kernel, halves_kernel, leaky_kernel,
    leaky_kernel_strided, padded_kernel, padded_kernel_2, product_kernel, rows_kernel,
    same_size_kernel, thinned_kernel,
};

/// Whether sizes and strides are ones that the kernels can be told of: of 32 bits, and no array empty.
fn fits(array: &TensorDesc, rank: usize) -> bool {
    let most = i64::from(i32::MAX);
    let sizes = array.shape.iter().take(rank);
    let strides = array.strides.iter().take(rank);
    array.ndim as usize == rank
        && sizes
            .zip(strides)
            .all(|(size, stride)| (1..=most).contains(size) && (0..=most).contains(stride))
}

/// The caller's array as a tensor, without owning it.
///
/// # Safety
/// `array` describes a live array of elements of type `E` on device `device_id`, and it `fits`.
unsafe fn borrowed<E: DType>(array: &TensorDesc, device_id: i32) -> ManuallyDrop<Tensor<E>> {
    let axes = 0..array.ndim as usize;
    let shape = axes.clone().map(|axis| array.shape[axis] as i32).collect();
    let strides = axes.map(|axis| array.strides[axis] as i32).collect();
    let (bytes, device) = (array.nbytes(), device_id as usize);
    ManuallyDrop::new(unsafe { Tensor::from_raw_parts(array.ptr, bytes, device, shape, strides) })
}

/// What tensor cores read instead of an element type.
fn tensor_core_type(dtype: &str) -> &str {
    if dtype == "f32" { "tf32" } else { dtype }
}

/// Queues `leaky_kernel` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `leaky_kernel` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_leaky_kernel(
    x: *const TensorDesc,
    y: *const TensorDesc,
    block: i32,
    square: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (x, y) = crate::deref_descs!(x, y);
    if !fits(x, 1) || x.strides[0] != 1 {
        return rc::INVALID_ARGS;
    }
    if !fits(y, 1) || y.strides[0] != 1 {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if y.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let generics = vec![
                dtype.to_string(),
                block.to_string(),
                (square != 0).to_string(),
            ];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe {
                leaky_kernel(
                    DevicePointer::<$E>::from_cu_deviceptr(x.ptr),
                    x.dim(0),
                    x.strides[0] as i32,
                    DevicePointer::<$E>::from_cu_deviceptr(y.ptr),
                    y.dim(0),
                    y.strides[0] as i32,
                )
            };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_leaky_kernel: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `leaky_kernel_strided` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `leaky_kernel_strided` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_leaky_kernel_strided(
    x: *const TensorDesc,
    y: *const TensorDesc,
    block: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (x, y) = crate::deref_descs!(x, y);
    if !fits(x, 1) {
        return rc::INVALID_ARGS;
    }
    if !fits(y, 1) || y.strides[0] != 1 {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if y.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let generics = vec![dtype.to_string(), block.to_string()];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe {
                leaky_kernel_strided(
                    DevicePointer::<$E>::from_cu_deviceptr(x.ptr),
                    x.dim(0),
                    x.strides[0] as i32,
                    DevicePointer::<$E>::from_cu_deviceptr(y.ptr),
                    y.dim(0),
                    y.strides[0] as i32,
                )
            };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_leaky_kernel_strided: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `rows_kernel` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `rows_kernel` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_rows_kernel(
    x: *const TensorDesc,
    w: *const TensorDesc,
    y: *const TensorDesc,
    factor: f32,
    rows: i32,
    tile: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (x, w, y) = crate::deref_descs!(x, w, y);
    if !fits(x, 2) {
        return rc::INVALID_ARGS;
    }
    if !fits(w, 1) {
        return rc::INVALID_ARGS;
    }
    if !fits(y, 2) {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if w.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    if y.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let x = unsafe { borrowed::<$E>(x, device_id) };
            let w = unsafe { borrowed::<$E>(w, device_id) };
            let y = unsafe { borrowed::<$E>(y, device_id) };
            let generics = vec![dtype.to_string(), rows.to_string(), tile.to_string()];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe { rows_kernel(&*x, &*w, &*y, factor) };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_rows_kernel: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `halves_kernel` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `halves_kernel` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_halves_kernel(
    x: *const TensorDesc,
    tile: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let x = crate::deref_descs!(x);
    if !fits(x, 2) {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let x = unsafe { borrowed::<$E>(x, device_id) };
            let generics = vec![dtype.to_string(), tile.to_string()];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe { halves_kernel(&*x) };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_halves_kernel: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `product_kernel` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `product_kernel` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_product_kernel(
    a: *const TensorDesc,
    b: *const TensorDesc,
    c: *const TensorDesc,
    tile: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (a, b, c) = crate::deref_descs!(a, b, c);
    if !fits(a, 2) {
        return rc::INVALID_ARGS;
    }
    if !fits(b, 2) {
        return rc::INVALID_ARGS;
    }
    if !fits(c, 2) {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if b.dtype != a.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    if c.dtype != a.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(a);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let a = unsafe { borrowed::<$E>(a, device_id) };
            let b = unsafe { borrowed::<$E>(b, device_id) };
            let c = unsafe { borrowed::<$E>(c, device_id) };
            let generics = vec![
                dtype.to_string(),
                tensor_core_type(dtype).to_string(),
                tile.to_string(),
            ];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe { product_kernel(&*a, &*b, &*c) };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_product_kernel: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `half_tile_kernel` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `half_tile_kernel` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_half_tile_kernel(
    x: *const TensorDesc,
    y: *const TensorDesc,
    tile_over_two: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (x, y) = crate::deref_descs!(x, y);
    if !fits(x, 1) {
        return rc::INVALID_ARGS;
    }
    if !fits(y, 1) {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if y.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let x = unsafe { borrowed::<$E>(x, device_id) };
            let y = unsafe { borrowed::<$E>(y, device_id) };
            let generics = vec![dtype.to_string(), tile_over_two.to_string()];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe { half_tile_kernel(&*x, &*y) };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_half_tile_kernel: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `thinned_kernel` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `thinned_kernel` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_thinned_kernel(
    x: *const TensorDesc,
    y: *const TensorDesc,
    p: f32,
    block: i32,
    p_below_one: i32,
    one_over_one_minus_p: f32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (x, y) = crate::deref_descs!(x, y);
    if !fits(x, 1) || x.strides[0] != 1 {
        return rc::INVALID_ARGS;
    }
    if !fits(y, 1) || y.strides[0] != 1 {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if y.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let generics = vec![
                dtype.to_string(),
                (p.to_bits() as i32).to_string(),
                block.to_string(),
                (p_below_one != 0).to_string(),
                (one_over_one_minus_p.to_bits() as i32).to_string(),
            ];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe {
                thinned_kernel(
                    DevicePointer::<$E>::from_cu_deviceptr(x.ptr),
                    x.dim(0),
                    x.strides[0] as i32,
                    DevicePointer::<$E>::from_cu_deviceptr(y.ptr),
                    y.dim(0),
                    y.strides[0] as i32,
                )
            };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_thinned_kernel: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `below_kernel` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `below_kernel` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_below_kernel(
    x: *const TensorDesc,
    y: *const TensorDesc,
    first: i32,
    causal: i32,
    tile: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (x, y) = crate::deref_descs!(x, y);
    if !fits(x, 2) {
        return rc::INVALID_ARGS;
    }
    if !fits(y, 2) {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if y.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let x = unsafe { borrowed::<$E>(x, device_id) };
            let y = unsafe { borrowed::<$E>(y, device_id) };
            let generics = vec![dtype.to_string(), causal.to_string(), tile.to_string()];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe { below_kernel(&*x, &*y, first) };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_below_kernel: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `box_kernel` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `box_kernel` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_box_kernel(
    x: *const TensorDesc,
    y: *const TensorDesc,
    tile: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (x, y) = crate::deref_descs!(x, y);
    if !fits(x, 3) || x.strides[2] != 1 {
        return rc::INVALID_ARGS;
    }
    if !fits(y, 3) || y.strides[2] != 1 {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if y.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let generics = vec![dtype.to_string(), tile.to_string()];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe {
                box_kernel(
                    DevicePointer::<$E>::from_cu_deviceptr(x.ptr),
                    x.dim(0),
                    x.dim(1),
                    x.dim(2),
                    x.strides[0] as i32,
                    x.strides[1] as i32,
                    x.strides[2] as i32,
                    DevicePointer::<$E>::from_cu_deviceptr(y.ptr),
                    y.dim(0),
                    y.dim(1),
                    y.dim(2),
                    y.strides[0] as i32,
                    y.strides[1] as i32,
                    y.strides[2] as i32,
                )
            };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_box_kernel: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `either_rank_kernel` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `either_rank_kernel` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_either_rank_kernel(
    x: *const TensorDesc,
    y: *const TensorDesc,
    tile: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (x, y) = crate::deref_descs!(x, y);
    if !fits(x, 1) {
        return rc::INVALID_ARGS;
    }
    if !fits(y, 1) {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if y.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let x = unsafe { borrowed::<$E>(x, device_id) };
            let y = unsafe { borrowed::<$E>(y, device_id) };
            let generics = vec![dtype.to_string(), tile.to_string()];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe { either_rank_kernel(&*x, &*y) };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_either_rank_kernel: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `either_rank_kernel_2` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `either_rank_kernel_2` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_either_rank_kernel_2(
    x: *const TensorDesc,
    y: *const TensorDesc,
    tile: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (x, y) = crate::deref_descs!(x, y);
    if !fits(x, 2) {
        return rc::INVALID_ARGS;
    }
    if !fits(y, 1) {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if y.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let x = unsafe { borrowed::<$E>(x, device_id) };
            let y = unsafe { borrowed::<$E>(y, device_id) };
            let generics = vec![dtype.to_string(), tile.to_string()];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe { either_rank_kernel_2(&*x, &*y) };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_either_rank_kernel_2: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `same_size_kernel` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `same_size_kernel` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_same_size_kernel(
    x: *const TensorDesc,
    y: *const TensorDesc,
    tile: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (x, y) = crate::deref_descs!(x, y);
    if !fits(x, 1) {
        return rc::INVALID_ARGS;
    }
    if !fits(y, 1) {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if y.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let x = unsafe { borrowed::<$E>(x, device_id) };
            let y = unsafe { borrowed::<$E>(y, device_id) };
            let generics = vec![dtype.to_string(), tile.to_string()];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe { same_size_kernel(&*x, &*y) };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_same_size_kernel: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `centred_kernel` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `centred_kernel` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_centred_kernel(
    x: *const TensorDesc,
    means: *const TensorDesc,
    y: *const TensorDesc,
    known: i32,
    d_value: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (x, means, y) = crate::deref_descs!(x, means, y);
    if !fits(x, 2) {
        return rc::INVALID_ARGS;
    }
    if !fits(means, 1) || means.strides[0] != 1 {
        return rc::INVALID_ARGS;
    }
    if !fits(y, 2) {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if means.dtype != 0 {
        return rc::UNSUPPORTED_DTYPE;
    }
    if y.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let x = unsafe { borrowed::<$E>(x, device_id) };
            let y = unsafe { borrowed::<$E>(y, device_id) };
            let generics = vec![dtype.to_string(), known.to_string(), d_value.to_string()];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe {
                centred_kernel(
                    &*x,
                    DevicePointer::<f32>::from_cu_deviceptr(means.ptr),
                    means.dim(0),
                    means.strides[0] as i32,
                    &*y,
                )
            };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_centred_kernel: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `centred_kernel_2` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `centred_kernel_2` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_centred_kernel_2(
    x: *const TensorDesc,
    means: *const TensorDesc,
    y: *const TensorDesc,
    known: i32,
    rows: i32,
    d_value: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (x, means, y) = crate::deref_descs!(x, means, y);
    if !fits(x, 2) {
        return rc::INVALID_ARGS;
    }
    if !fits(means, 1) || means.strides[0] != 1 {
        return rc::INVALID_ARGS;
    }
    if !fits(y, 2) {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if means.dtype != 0 {
        return rc::UNSUPPORTED_DTYPE;
    }
    if y.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let x = unsafe { borrowed::<$E>(x, device_id) };
            let y = unsafe { borrowed::<$E>(y, device_id) };
            let generics = vec![
                dtype.to_string(),
                known.to_string(),
                rows.to_string(),
                d_value.to_string(),
            ];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe {
                centred_kernel_2(
                    &*x,
                    DevicePointer::<f32>::from_cu_deviceptr(means.ptr),
                    means.dim(0),
                    means.strides[0] as i32,
                    &*y,
                )
            };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_centred_kernel_2: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `padded_kernel` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `padded_kernel` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_padded_kernel(
    x: *const TensorDesc,
    bias: *const TensorDesc,
    y: *const TensorDesc,
    length: i32,
    tile: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (x, bias, y) = crate::deref_descs!(x, bias, y);
    if !fits(x, 1) {
        return rc::INVALID_ARGS;
    }
    if !fits(bias, 1) {
        return rc::INVALID_ARGS;
    }
    if !fits(y, 1) {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if bias.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    if y.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let x = unsafe { borrowed::<$E>(x, device_id) };
            let bias = unsafe { borrowed::<$E>(bias, device_id) };
            let y = unsafe { borrowed::<$E>(y, device_id) };
            let generics = vec![dtype.to_string(), tile.to_string()];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe { padded_kernel(&*x, &*bias, &*y, length) };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_padded_kernel: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `padded_kernel_2` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `padded_kernel_2` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_padded_kernel_2(
    x: *const TensorDesc,
    bias: *const TensorDesc,
    y: *const TensorDesc,
    length: i32,
    tile: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (x, bias, y) = crate::deref_descs!(x, bias, y);
    if !fits(x, 1) {
        return rc::INVALID_ARGS;
    }
    if !fits(bias, 1) {
        return rc::INVALID_ARGS;
    }
    if !fits(y, 1) {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if bias.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    if y.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let x = unsafe { borrowed::<$E>(x, device_id) };
            let bias = unsafe { borrowed::<$E>(bias, device_id) };
            let y = unsafe { borrowed::<$E>(y, device_id) };
            let generics = vec![dtype.to_string(), tile.to_string()];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe { padded_kernel_2(&*x, &*bias, &*y, length) };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_padded_kernel_2: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}

/// Queues `flags_kernel` on `raw_stream`, and does not wait for it.
///
/// A `num_cta_in_cga` or an `occupancy` of -1 leaves the choice to the compiler.
///
/// # Safety
/// The descriptors describe live arrays of device `device_id` that outlive the work on `raw_stream`,
/// and that are as `flags_kernel` demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_drafted_flags_kernel(
    x: *const TensorDesc,
    y: *const TensorDesc,
    flags: i32,
    tile: i32,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (x, y) = crate::deref_descs!(x, y);
    if !fits(x, 1) {
        return rc::INVALID_ARGS;
    }
    if !fits(y, 1) {
        return rc::INVALID_ARGS;
    }
    if grid_x < 1 || grid_y < 1 || grid_z < 1 {
        return rc::INVALID_ARGS;
    }
    if y.dtype != x.dtype {
        return rc::UNSUPPORTED_DTYPE;
    }
    let dtype: &'static str = crate::resolve_dtype!(x);
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let x = unsafe { borrowed::<$E>(x, device_id) };
            let y = unsafe { borrowed::<$E>(y, device_id) };
            let generics = vec![dtype.to_string(), flags.to_string(), tile.to_string()];
            let options = crate::compile_options!(occupancy, num_cta_in_cga);
            let kernel = unsafe { flags_kernel(&*x, &*y) };
            let kernel = kernel
                .generics(generics)
                .grid((grid_x as u32, grid_y as u32, grid_z as u32))
                .compile_options(options);
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_drafted_flags_kernel: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, bf16)
}
