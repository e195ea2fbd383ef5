//! `init`: a new project from a template.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use shardwright_diagnostics::did_you_mean;

use super::import;
use crate::args::{Format, Global, Init};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::{GIT_ATTRIBUTES, missing_attributes};
use crate::ui::Ui;

/// A project to start from: an example of the repository, or `start`.
struct Template {
    name: &'static str,
    /// Paths in the project, with the content.
    files: &'static [(&'static str, &'static [u8])],
}

const TEMPLATES: &[Template] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));

pub(crate) fn run(args: &Init, global: &Global, ui: &Ui) -> Result<Exit, CommandError> {
    if args.list {
        return list(ui);
    }
    let directory = args.target.as_deref().unwrap_or(&global.directory);
    if let Some(source) = &args.from {
        return import::write_project(source, &args.adoption, directory, ui);
    }
    let template = find(&args.template)?;
    let attributes = missing_attributes(directory);
    let written = write(template, directory)?;
    if let Some(attributes) = attributes {
        ui.status(&attributes);
    }
    let names = || written.iter().map(|(path, _)| *path);
    if ui.format() == Format::Json {
        ui.json(&serde_json::json!({"template": template.name, "directory": directory, "files": names().collect::<Vec<_>>()}))?;
        return Ok(Exit::Done);
    }
    ui.data(
        &names()
            .map(|name| format!("{}\n", directory.join(name).display()))
            .collect::<String>(),
    )?;
    ui.status(&format!("next: shardwright -C {} validate", directory.display()));
    Ok(Exit::Done)
}

fn find(name: &str) -> Result<&'static Template, CommandError> {
    TEMPLATES
        .iter()
        .find(|template| template.name == name)
        .ok_or_else(|| {
            let error = CommandError::usage(format!("there is no template {name}"));
            match did_you_mean(name, TEMPLATES.iter().map(|template| template.name)) {
                Some(near) => error.hint(format!("did you mean {near}?")),
                None => error.hint("shardwright init --list shows them"),
            }
        })
}

fn list(ui: &Ui) -> Result<Exit, CommandError> {
    if ui.format() == Format::Json {
        let templates = TEMPLATES
            .iter()
            .map(|template| serde_json::json!({"name": template.name, "about": template.about()}));
        ui.json(&templates.collect::<serde_json::Value>())?;
        return Ok(Exit::Done);
    }
    let width = TEMPLATES
        .iter()
        .map(|template| template.name.len())
        .max()
        .unwrap_or(0);
    let lines = TEMPLATES.iter().map(|template| {
        let line = format!("{:width$}  {}", template.name, template.about());
        format!("{}\n", line.trim_end())
    });
    ui.data(&lines.collect::<String>())?;
    Ok(Exit::Done)
}

impl Template {
    /// The first sentence of the comment that its topology begins with.
    fn about(&self) -> String {
        let topology = self.files.iter().find(|(path, _)| path.starts_with("topology/"));
        let text = topology
            .map(|(_, content)| String::from_utf8_lossy(content))
            .unwrap_or_default();
        let comment: Vec<&str> = text
            .lines()
            .take_while(|line| line.starts_with('#'))
            .map(|line| line.trim_start_matches('#').trim())
            .collect();
        let comment = comment.join(" ");
        let end = comment.find(". ").map_or(comment.len(), |end| end);
        comment[..end].trim_end_matches('.').to_owned()
    }
}

/// Writes every file, or none if one exists already; a repository keeps its own attributes. Returns the written files.
fn write(template: &Template, directory: &Path) -> Result<Vec<(&'static str, &'static [u8])>, CommandError> {
    let failed = |path: &Path, error: &io::Error| {
        CommandError::failed(format!("cannot write {}: {error}", path.display()))
    };
    let exists = |path: &str| directory.join(path).symlink_metadata().is_ok();
    if let Some((path, _)) = template.files.iter().find(|(path, _)| exists(path)) {
        let path = directory.join(path);
        return Err(
            CommandError::failed(format!("{} exists; nothing was written", path.display()))
                .hint("init writes new projects only: name another directory"),
        );
    }
    let (attributes, content) = GIT_ATTRIBUTES;
    let attributes = (!exists(attributes)).then_some((attributes, content.as_bytes()));
    let files: Vec<_> = attributes
        .into_iter()
        .chain(template.files.iter().copied())
        .collect();
    for (path, content) in &files {
        let path = directory.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
        }
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .and_then(|mut file| file.write_all(content))
            .map_err(|error| failed(&path, &error))?;
    }
    Ok(files)
}
