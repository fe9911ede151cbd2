//! A kernel's own test: launches its entries with cuTile Rust's own launcher, neither C nor Python in between, and compares
//! every byte of every array with what the interpreter has of the reference. Written by `tileport-skill check
//! kernel-writer`; built without a GPU, run where there is one: exit status 0 passed, 1 failed, 77 not run.

#![allow(unused_imports, dead_code)]

include!("kernel.rs");

use core::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cuda_async::device_buffer::DevicePointer;
use cuda_core::{
    Device, Stream, f8e4m3fn, f8e5m2, malloc_async, memcpy_dtoh_async, memcpy_htod_async,
};
use cutile::half::{bf16, f16};
use cutile::prelude::*;
use cutile::tile_kernel::{CompileOptions, TileKernel};

const NOT_RUN: u8 = 77;

/// How far two numbers may lie apart: relatively, and near zero.
fn tolerance(element: &str) -> (f64, f64) {
    match element {
        "f64" => (1e-9, 1e-9),
        "f32" => (1e-4, 1e-4),
        "f16" => (1e-2, 1e-3),
        "bf16" => (2e-2, 1e-2),
        _ => (0.0, 0.0),
    }
}

/// An array of a case on the device, with what it should hold afterwards.
struct Buffer {
    address: u64,
    bytes: usize,
    file: PathBuf,
    element: &'static str,
}

struct Gpu {
    stream: Arc<Stream>,
    data: PathBuf,
}

impl Gpu {
    fn upload(&self, case: &str, number: usize, element: &'static str) -> Result<Buffer, String> {
        let file = self.data.join(case).join(number.to_string());
        let content = read(&file.with_extension("in"))?;
        let bytes = content.len();
        let address = unsafe { malloc_async(bytes.max(1), &self.stream) };
        unsafe { memcpy_htod_async(address, content.as_ptr(), bytes, &self.stream) };
        self.wait()?;
        Ok(Buffer { address, bytes, file, element })
    }

    fn wait(&self) -> Result<(), String> {
        unsafe { self.stream.synchronize() }.map_err(|error| format!("{error:?}"))
    }

    fn compare(&self, buffers: &[Buffer]) -> Result<(), String> {
        self.wait()?;
        for (number, buffer) in buffers.iter().enumerate() {
            let mut found = vec![0u8; buffer.bytes];
            let to = found.as_mut_ptr();
            unsafe { memcpy_dtoh_async(to, buffer.address, buffer.bytes, &self.stream) };
            self.wait()?;
            let wanted = read(&buffer.file.with_extension("out"))?;
            let open = read(&buffer.file.with_extension("open"))?;
            let width = buffer.bytes / open.len().max(1);
            for (at, _) in open.iter().enumerate().filter(|(_, open)| **open == 0) {
                let place = at * width..(at + 1) * width;
                let (found, wanted) = (&found[place.clone()], &wanted[place]);
                if !agree(buffer.element, found, wanted) {
                    return Err(format!(
                        "array {number}, element {at} ({}): {} where {} should be",
                        buffer.element,
                        shown(buffer.element, found),
                        shown(buffer.element, wanted)
                    ));
                }
            }
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn number(element: &str, bytes: &[u8]) -> Option<f64> {
    Some(match element {
        "f64" => f64::from_le_bytes(bytes.try_into().ok()?),
        "f32" => f32::from_le_bytes(bytes.try_into().ok()?).into(),
        "f16" => f16::from_le_bytes(bytes.try_into().ok()?).into(),
        "bf16" => bf16::from_le_bytes(bytes.try_into().ok()?).into(),
        _ => return None,
    })
}

fn agree(element: &str, found: &[u8], wanted: &[u8]) -> bool {
    if found == wanted {
        return true;
    }
    if element.starts_with("f8") {
        return found[0].abs_diff(wanted[0]) <= 1; // neighbours in the encoding
    }
    match (number(element, found), number(element, wanted)) {
        (Some(found), Some(wanted)) => {
            let (relative, absolute) = tolerance(element);
            (found.is_nan() && wanted.is_nan())
                || (found - wanted).abs() <= absolute + relative * wanted.abs()
        }
        _ => false,
    }
}

fn shown(element: &str, bytes: &[u8]) -> String {
    number(element, bytes).map_or_else(|| format!("{bytes:02x?}"), |number| number.to_string())
}

/// A part of a buffer as a tensor, without owning it.
///
/// # Safety
/// `address` points at a live array of that shape and those strides.
unsafe fn borrowed<E: DType>(
    address: u64,
    shape: &[i32],
    strides: &[i32],
) -> ManuallyDrop<Tensor<E>> {
    let bytes = shape.iter().map(|size| *size as usize).product::<usize>() * size_of::<E>();
    let (shape, strides) = (shape.to_vec(), strides.to_vec());
    ManuallyDrop::new(unsafe { Tensor::from_raw_parts(address, bytes, 0, shape, strides) })
}

fn hints(occupancy: i32, num_cta_in_cga: i32) -> CompileOptions {
    let mut options = CompileOptions::default();
    if occupancy > 0 {
        options = options.occupancy(occupancy);
    }
    if num_cta_in_cga > 0 {
        options = options.num_cta_in_cga(num_cta_in_cga);
    }
    options
}

type Case = fn(&Gpu) -> Result<(), String>;

fn main() -> ExitCode {
    let data = std::env::args_os().nth(1).map_or_else(|| "data".into(), PathBuf::from);
    let device = match Device::new(0) {
        Ok(device) => device,
        Err(error) => {
            println!("not run: there is no GPU ({error:?})");
            return ExitCode::from(NOT_RUN);
        }
    };
    let stream = device.new_stream().expect("a stream");
    let gpu = Gpu { stream, data };
    let mut failed = 0;
    for (name, case) in CASES {
        match case(&gpu) {
            Ok(()) => println!("passed {name}"),
            Err(why) => {
                failed += 1;
                println!("failed {name}: {why}");
            }
        }
    }
    println!("{} of {} cases passed", CASES.len() - failed, CASES.len());
    ExitCode::from(u8::from(failed > 0))
}

// One function for each case.

