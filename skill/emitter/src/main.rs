//! Emits the Tile IR of a `kernel.rs` without a build and without a GPU: the source is parsed at run time.
//!
//! `tileport-emitter describe KERNEL.RS` prints what the file's entries take, as one JSON document.
//! `tileport-emitter emit KERNEL.RS < requests.jsonl` compiles one request a line and prints one answer a line, in
//! order, each written out before the next begins: who reads them knows which request hung.
//! `tileport-emitter facts < arrays.jsonl` prints what the launcher derives from each array; tests hold ours to it.

mod describe;
mod emit;
mod facts;
mod problem;
mod source;

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;

use problem::Problem;
use source::Source;

const USAGE: u8 = 64;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["describe", file] => describe(Path::new(file)),
        ["emit", file] => emit(Path::new(file)),
        ["facts"] => facts(),
        ["--version"] => {
            println!("tileport-emitter {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        _ => {
            eprintln!("usage: tileport-emitter describe|emit KERNEL.RS, or tileport-emitter facts");
            return ExitCode::from(USAGE);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            println!("{}", serde_json::json!({ "problem": problem }));
            ExitCode::FAILURE
        }
    }
}

fn describe(file: &Path) -> Result<(), Problem> {
    let source = Source::read(file)?;
    let modules = describe::modules(&source)?;
    println!("{}", serde_json::json!({ "modules": modules }));
    Ok(())
}

fn emit(file: &Path) -> Result<(), Problem> {
    let source = Source::read(file)?;
    let mut emitter = emit::Emitter::new(&source);
    problem::quiet_panics();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(Problem::from_error)?;
        let answer = emitter.answer(&line);
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}").and_then(|()| out.flush()).map_err(Problem::from_error)?;
    }
    Ok(())
}

fn facts() -> Result<(), Problem> {
    for line in std::io::stdin().lock().lines() {
        println!("{}", facts::derived(&line.map_err(Problem::from_error)?)?);
    }
    Ok(())
}
