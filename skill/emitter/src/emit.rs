//! One request: an entry with everything the launcher would derive from its arguments, to bytecode on disk.

use std::path::PathBuf;

use cutile_compiler::compile_api::KernelCompiler;
use cutile_compiler::hints::CompileOptions;
use cutile_compiler::specialization::{DivHint, SpecializationBits};
use cutile_ir::ir::{Attribute, Module};
use serde::Deserialize;

use crate::problem::{Problem, caught};
use crate::source::Source;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    id: String,
    module: Option<String>,
    entry: String,
    arch: String,
    /// The entry symbol of the result.
    symbol: String,
    generics: Vec<String>,
    tensors: Vec<TensorFacts>,
    /// Pointers and integer scalars: the divisor their value has.
    scalars: Vec<(String, i32)>,
    grid: Option<(u32, u32, u32)>,
    occupancy: Option<i32>,
    num_cta_in_cga: Option<i32>,
    max_divisibility: Option<i32>,
    out: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TensorFacts {
    name: String,
    /// One number per dimension: the stride where it is static in the compiled kernel, -1 where it is not.
    strides: Vec<i32>,
    shape_div: Vec<i32>,
    stride_div: Vec<i32>,
    stride_one: Vec<bool>,
    base_div: i32,
    disjoint: bool,
}

/// The answer to one line of input, itself one line of JSON.
pub fn answer(source: &Source, line: &str) -> serde_json::Value {
    let request: Request = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(error) => return serde_json::json!({ "id": null, "problem": Problem::from_error(error) }),
    };
    match caught(|| compiled(source, &request)) {
        Ok(bytes) => serde_json::json!({ "id": request.id, "bytes": bytes }),
        Err(problem) => serde_json::json!({ "id": request.id, "problem": problem }),
    }
}

fn compiled(source: &Source, request: &Request) -> Result<usize, Problem> {
    let module = source.module_of_entry(request.module.as_deref(), &request.entry)?;
    let name = module.ident.to_string();
    let strides: Vec<(&str, &[i32])> =
        request.tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.strides.as_slice())).collect();
    let facts: Vec<(&str, SpecializationBits)> =
        request.tensors.iter().map(|tensor| (tensor.name.as_str(), bits(tensor))).collect();
    let scalars: Vec<(&str, DivHint)> =
        request.scalars.iter().map(|(name, divisor)| (name.as_str(), hint(*divisor))).collect();
    let mut compiler = KernelCompiler::new(|| source.tile_module(module), &name, &request.entry)
        .generics(request.generics.clone())
        .strides(&strides)
        .spec_args(&facts)
        .scalar_hints(&scalars)
        .options(CompileOptions {
            occupancy: request.occupancy,
            num_cta_in_cga: request.num_cta_in_cga,
            max_divisibility: request.max_divisibility,
        })
        .target(&request.arch);
    if let Some(grid) = request.grid {
        compiler = compiler.grid(grid);
    }
    let mut made = compiler.compile()?.into_module();
    rename_entry(&mut made, &request.symbol)?;
    let bytes = cutile_ir::write_bytecode(&made)
        .map_err(|error| Problem::new("compiler", format!("bytecode serialization failed: {error}")))?;
    std::fs::write(&request.out, &bytes).map_err(Problem::from_error)?;
    Ok(bytes.len())
}

fn bits(tensor: &TensorFacts) -> SpecializationBits {
    SpecializationBits {
        shape_div: tensor.shape_div.iter().copied().map(hint).collect(),
        stride_div: tensor.stride_div.iter().copied().map(hint).collect(),
        stride_one: tensor.stride_one.clone(),
        base_ptr_div: hint(tensor.base_div),
        elements_disjoint: tensor.disjoint,
    }
}

fn hint(divisor: i32) -> DivHint {
    DivHint { divisor, ..DivHint::default() }
}

/// The symbol is part of a cubin, so both sides of a comparison carry the same one.
fn rename_entry(module: &mut Module, symbol: &str) -> Result<(), Problem> {
    let [entry] = module.functions[..] else {
        return Err(Problem::new("compiler", format!("expected one function, found {}", module.functions.len())));
    };
    let operation = module.op_mut(entry);
    let name = operation.attributes.iter_mut().find(|(key, _)| key == "sym_name");
    let (_, value) = name.ok_or_else(|| Problem::new("compiler", "the entry has no name"))?;
    *value = Attribute::String(symbol.to_string());
    Ok(())
}
