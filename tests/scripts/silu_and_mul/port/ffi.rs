// The C entries of silu_and_mul: one launch each, queued on the caller's stream and not waited for.

use core::ffi::c_void;

use cuda_async::device_buffer::DevicePointer;
use cuda_core::{Device, Stream};
use cutile::half::{bf16, f16};
use cutile::prelude::*;
use cutile::tile_kernel::{CompileOptions, TileKernel};

use crate::ffi_util::{TensorDesc, rc};
use silu_and_mul_module::{silu_and_mul_backward_row_wise, silu_and_mul_row_wise};

/// `output` is [rows, hidden], `input` is [rows, 2 * hidden]; `tile_size` is at least `hidden`, a power of two.
/// `num_cta_in_cga` and `occupancy` of -1 leave the choice to the compiler.
///
/// # Safety
/// Both descriptors describe live allocations of device `device_id` that outlive the work on `raw_stream`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_silu_and_mul(
    output: *const TensorDesc,
    input: *const TensorDesc,
    tile_size: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (output, input) = crate::deref_descs!(output, input);
    let dtype: &'static str = crate::resolve_dtype!(output);
    if output.dtype != input.dtype || output.ndim != 2 || input.ndim != 2 {
        return rc::INVALID_ARGS;
    }
    let hidden = output.dim(1);
    if tile_size < hidden || hidden < 1 || output.dim(0) < 1 || input.dim(1) != 2 * hidden {
        return rc::INVALID_ARGS;
    }
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let kernel = unsafe {
                silu_and_mul_row_wise(
                    DevicePointer::<$E>::from_cu_deviceptr(input.ptr),
                    input.dim(0),
                    input.dim(1),
                    input.strides[0] as i32,
                    input.strides[1] as i32,
                    DevicePointer::<$E>::from_cu_deviceptr(output.ptr),
                    output.dim(0),
                    output.dim(1),
                    output.strides[0] as i32,
                    output.strides[1] as i32,
                )
            }
            .generics(vec![dtype.to_string(), tile_size.to_string(), hidden.to_string()])
            .grid((output.dim(0) as u32, 1, 1))
            .compile_options(crate::compile_options!(occupancy, num_cta_in_cga));
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_silu_and_mul: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, f16, bf16)
}

/// `grad_output`, `grad_a` and `grad_b` are [rows, hidden], `input` is [rows, 2 * hidden]; the rest as above.
///
/// # Safety
/// As for the forward entry; `grad_a` and `grad_b` overlap nothing else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutile_silu_and_mul_backward(
    grad_output: *const TensorDesc,
    input: *const TensorDesc,
    grad_a: *const TensorDesc,
    grad_b: *const TensorDesc,
    tile_size: i32,
    num_cta_in_cga: i32,
    occupancy: i32,
    device_id: i32,
    raw_stream: u64,
) -> i32 {
    let (grad_output, input) = crate::deref_descs!(grad_output, input);
    let (grad_a, grad_b) = crate::deref_descs!(grad_a, grad_b);
    let dtype: &'static str = crate::resolve_dtype!(input);
    let hidden = grad_output.dim(1);
    for gradient in [grad_output, grad_a, grad_b] {
        let fits = gradient.dtype == input.dtype
            && gradient.ndim == 2
            && gradient.dim(0) == input.dim(0)
            && gradient.dim(1) == hidden;
        if !fits {
            return rc::INVALID_ARGS;
        }
    }
    if input.ndim != 2 || tile_size < hidden || hidden < 1 || input.dim(0) < 1 || input.dim(1) != 2 * hidden {
        return rc::INVALID_ARGS;
    }
    crate::setup_device_stream!(device, stream, device_id, raw_stream);

    macro_rules! launch {
        ($E:ty) => {{
            let kernel = unsafe {
                silu_and_mul_backward_row_wise(
                    DevicePointer::<$E>::from_cu_deviceptr(grad_output.ptr),
                    grad_output.dim(0),
                    grad_output.dim(1),
                    grad_output.strides[0] as i32,
                    grad_output.strides[1] as i32,
                    DevicePointer::<$E>::from_cu_deviceptr(input.ptr),
                    input.dim(0),
                    input.dim(1),
                    input.strides[0] as i32,
                    input.strides[1] as i32,
                    DevicePointer::<$E>::from_cu_deviceptr(grad_a.ptr),
                    grad_a.dim(0),
                    grad_a.dim(1),
                    grad_a.strides[0] as i32,
                    grad_a.strides[1] as i32,
                    DevicePointer::<$E>::from_cu_deviceptr(grad_b.ptr),
                    grad_b.dim(0),
                    grad_b.dim(1),
                    grad_b.strides[0] as i32,
                    grad_b.strides[1] as i32,
                )
            }
            .generics(vec![dtype.to_string(), tile_size.to_string(), hidden.to_string()])
            .grid((input.dim(0) as u32, 1, 1))
            .compile_options(crate::compile_options!(occupancy, num_cta_in_cga));
            match unsafe { kernel.async_on(&stream) } {
                Ok(_) => rc::OK,
                Err(error) => {
                    eprintln!("cutile_silu_and_mul_backward: {error:?}");
                    rc::LAUNCH_FAILED
                }
            }
        }};
    }

    crate::dispatch_by_dtype!(dtype, launch, f32, f16, bf16)
}
