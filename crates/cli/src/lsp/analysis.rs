//! One project as its newest texts have it: resolved at once, compiled and searched for names when first asked.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lsp_types::{Location, Position, Range};
use shardwright_compiler::{Compiled, Lock};
use shardwright_diagnostics::{FileId, Span};
use shardwright_documents::Document;
use shardwright_rules::EngineId;
use shardwright_topology::symbols::{Symbols, symbols};
use shardwright_topology::{Loaded, Options, read_project_with};

use super::open_documents::OpenDocuments;
use super::text::{Encoding, Lines};
use crate::clock;
use crate::project::read_lock;

/// A project as its newest texts have it.
pub(super) struct Analysis {
    pub(super) root: PathBuf,
    pub(super) loaded: Loaded,
    options: Options,
    lines: BTreeMap<FileId, Lines>,
    symbols: OnceCell<Symbols>,
    compiled: OnceCell<Vec<(EngineId, Compiled)>>,
}

impl Analysis {
    /// Resolves the project of a directory, with the texts of open documents instead of their files.
    pub(super) fn of(root: &Path, options: &Options, unsaved: &BTreeMap<String, String>) -> Self {
        // A session outlasts the time it began at.
        let options = Options {
            now: Some(clock::now()),
            ..options.clone()
        };
        let loaded = read_project_with(root, &options, unsaved);
        let sources = &loaded.sources;
        let lines = sources
            .files()
            .map(|file| (file, Lines::of(sources.text(file))))
            .collect();
        Self {
            root: root.to_owned(),
            loaded,
            options,
            lines,
            symbols: OnceCell::new(),
            compiled: OnceCell::new(),
        }
    }

    /// The environment of the session.
    pub(super) fn environment(&self) -> Option<&str> {
        self.options.environment.as_deref()
    }

    /// The project with these texts in place of its files, as an environment has it.
    pub(super) fn read_as(&self, environment: Option<&str>, texts: &BTreeMap<String, String>) -> Loaded {
        let options = Options {
            environment: environment.map(str::to_owned),
            ..self.options.clone()
        };
        read_project_with(&self.root, &options, texts)
    }

    /// The file of this path.
    pub(super) fn file(&self, path: &str) -> Option<FileId> {
        let sources = &self.loaded.sources;
        sources.files().find(|file| sources.path(*file) == path)
    }

    /// The tree of a file.
    pub(super) fn document(&self, file: FileId) -> Option<&Document> {
        self.loaded.documents.all().find(|document| document.file == file)
    }

    /// The names of all files.
    pub(super) fn symbols(&self) -> &Symbols {
        self.symbols.get_or_init(|| symbols(&self.loaded, &self.options))
    }

    /// The project compiled for each engine that it lists; nothing where it has errors.
    pub(super) fn compiled(&self) -> &[(EngineId, Compiled)] {
        self.compiled.get_or_init(|| {
            let Some(project) = &self.loaded.project else {
                return Vec::new();
            };
            // The commands that need the numbers of a lock report one that cannot be read.
            let lock = read_lock(&self.root, self.options.environment.as_deref())
                .unwrap_or_else(|_| Lock::default());
            let engines = project.file.engines.iter();
            engines
                .filter_map(|entry| EngineId::from_name(entry.name.as_str()))
                .map(|engine| {
                    (
                        engine,
                        shardwright_compiler::compile(project, engine, &lock, &Default::default()),
                    )
                })
                .collect()
        })
    }

    /// The byte at a position of a file.
    pub(super) fn offset(&self, file: FileId, position: Position, encoding: Encoding) -> u32 {
        let offset = self.lines[&file].offset(self.loaded.sources.text(file), position, encoding);
        u32::try_from(offset).unwrap_or(u32::MAX)
    }

    /// The lines and characters that a span covers.
    pub(super) fn range(&self, span: Span, encoding: Encoding) -> Range {
        self.lines[&span.file].range(self.loaded.sources.text(span.file), span.range(), encoding)
    }

    /// A span as editors name it.
    pub(super) fn location(&self, span: Span, documents: &OpenDocuments) -> Option<Location> {
        let url = documents.url(&self.root, self.loaded.sources.path(span.file))?;
        Some(Location::new(url, self.range(span, documents.encoding)))
    }
}
