//! Embeds the examples as the templates of `init`: every file of `examples/NAME`, found when the program is built.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let templates = root.join("templates");
    let examples = root.join("../../examples");
    let mut source = String::from("&[\n");
    for directory in [&templates, &examples] {
        println!("cargo::rerun-if-changed={}", directory.display());
        for name in names(directory)? {
            let mut files = Vec::new();
            collect(&directory.join(&name), "", &mut files)?;
            writeln!(source, "    Template {{ name: {name:?}, files: &[")
                .expect("writing to a string cannot fail");
            for (path, file) in files {
                writeln!(source, "        ({path:?}, include_bytes!({file:?})),")
                    .expect("writing to a string cannot fail");
            }
            source.push_str("    ] },\n");
        }
    }
    source.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("templates.rs"), source)
}

/// What a directory holds, in order, without hidden files and what programs wrote.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        if let Ok(name) = entry?.file_name().into_string()
            && !name.starts_with('.')
            && name != "shardwright.lock"
            && !name.ends_with(".md")
        {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn collect(directory: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for name in names(directory)? {
        let path = directory.join(&name);
        let inside = if prefix.is_empty() {
            name
        } else {
            format!("{prefix}/{name}")
        };
        if path.is_dir() {
            collect(&path, &inside, files)?;
        } else {
            files.push((inside, path.canonicalize()?));
        }
    }
    Ok(())
}
