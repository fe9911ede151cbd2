//! One request: an entry with everything the launcher would derive from its arguments, to bytecode on disk.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;

use cutile_compiler::compiler::{CUDATileFunctionCompiler, CUDATileModules};
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

/// Answers requests on one file; what the crate makes of a module's source is made once and kept.
pub struct Emitter<'a> {
    source: &'a Source,
    parsed: HashMap<String, CUDATileModules>,
}

impl<'a> Emitter<'a> {
    pub fn new(source: &'a Source) -> Self {
        Self { source, parsed: HashMap::new() }
    }

    /// The answer to one line of input, itself one line of JSON.
    pub fn answer(&mut self, line: &str) -> serde_json::Value {
        let request: Request = match serde_json::from_str(line) {
            Ok(request) => request,
            Err(error) => return serde_json::json!({ "id": null, "problem": Problem::from_error(error) }),
        };
        match caught(|| self.compiled(&request)) {
            Ok(bytes) => serde_json::json!({ "id": request.id, "bytes": bytes }),
            Err(problem) => serde_json::json!({ "id": request.id, "problem": problem }),
        }
    }

    fn compiled(&mut self, request: &Request) -> Result<usize, Problem> {
        let module = self.source.module_of_entry(request.module.as_deref(), &request.entry)?;
        let name = module.ident.to_string();
        let modules = match self.parsed.entry(name.clone()) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(place) => place.insert(CUDATileModules::from_kernel(self.source.tile_module(module))?),
        };
        let mut made = tile_ir(modules, &name, request)?;
        rename_entry(&mut made, &request.symbol)?;
        let bytes = cutile_ir::write_bytecode(&made)
            .map_err(|error| Problem::new("compiler", format!("bytecode serialization failed: {error}")))?;
        std::fs::write(&request.out, &bytes).map_err(Problem::from_error)?;
        Ok(bytes.len())
    }
}

/// As the launcher compiles it: `compile_from_context` in cutile 0.2.0, up to the call of `tileiras`.
fn tile_ir(modules: &CUDATileModules, module: &str, request: &Request) -> Result<Module, Problem> {
    let bits: Vec<SpecializationBits> = request.tensors.iter().map(bits).collect();
    let hints: Vec<DivHint> = request.scalars.iter().map(|(_, divisor)| hint(*divisor)).collect();
    let names = || request.tensors.iter().map(|tensor| tensor.name.as_str());
    let strides: Vec<(&str, &[i32])> =
        names().zip(request.tensors.iter().map(|tensor| tensor.strides.as_slice())).collect();
    let facts: Vec<(&str, &SpecializationBits)> = names().zip(&bits).collect();
    let scalars: Vec<(&str, &DivHint)> = request.scalars.iter().map(|(name, _)| name.as_str()).zip(&hints).collect();
    let options = CompileOptions {
        occupancy: request.occupancy,
        num_cta_in_cga: request.num_cta_in_cga,
        max_divisibility: request.max_divisibility,
    };
    let compiler = CUDATileFunctionCompiler::new(
        modules,
        module,
        &request.entry,
        &request.generics,
        &strides,
        &facts,
        &scalars,
        request.grid,
        request.arch.clone(),
        &options,
    )?;
    let made = compiler.compile()?;
    made.verify_dominance().map_err(|error| Problem::new("compiler", error.to_string()))?;
    made.verify_bytecode_indices().map_err(|error| Problem::new("compiler", error.to_string()))?;
    Ok(made)
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
