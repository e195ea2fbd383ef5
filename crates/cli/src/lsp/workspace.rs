//! The texts that are open, and the projects that they are part of.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use lsp_types::{Diagnostic, TextDocumentContentChangeEvent, Url};
use shardwright_topology::{Options, PROJECT_FILE};

use super::analysis::Analysis;
use super::open_documents::{OpenDocuments, path_of, relative};

/// Projects that are looked at.
const MAX_PROJECTS: usize = 64;

/// A project and the problems that were published for it.
#[derive(Default)]
struct Project {
    /// None where its texts have changed since.
    analysis: Option<Rc<Analysis>>,
    /// Whether its problems must be published again.
    is_stale: bool,
    published: BTreeMap<Url, Vec<Diagnostic>>,
}

/// Problems of one file, for the editor.
pub(super) struct Publication {
    pub(super) url: Url,
    pub(super) version: Option<i32>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Everything that is open.
pub(super) struct Workspace {
    pub(super) documents: OpenDocuments,
    /// What the editor must tell its user beside the answer.
    pub(super) notices: Vec<String>,
    directory: PathBuf,
    options: Options,
    projects: BTreeMap<PathBuf, Project>,
}

impl Workspace {
    /// `directory` is looked at like a folder of the editor.
    pub(super) fn new(directory: PathBuf, options: Options) -> Self {
        Self {
            documents: OpenDocuments::default(),
            notices: Vec::new(),
            directory,
            options,
            projects: BTreeMap::new(),
        }
    }

    /// Looks for projects in the folders that the editor opened, and in the directory of the command.
    pub(super) fn start(&mut self, folders: &[PathBuf]) {
        let directory = std::path::absolute(&self.directory).ok();
        for folder in folders.iter().chain(&directory) {
            if folder.join(PROJECT_FILE).is_file() {
                self.mark(folder);
            }
        }
    }

    /// Uses a text instead of its file.
    pub(super) fn open(&mut self, url: Url, version: i32, text: String) -> Result<(), String> {
        let Some(path) = path_of(&url) else { return Ok(()) };
        self.documents.open(path.clone(), url, version, text);
        self.changed(&path);
        self.documents.check_size(&path)
    }

    /// Changes a text; one that is not open is left alone.
    pub(super) fn change(
        &mut self,
        url: &Url,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
    ) -> Result<(), String> {
        let Some(path) = path_of(url) else { return Ok(()) };
        if !self.documents.change(&path, version, changes) {
            return Ok(());
        }
        self.changed(&path);
        self.documents.check_size(&path)
    }

    /// Goes back to the file.
    pub(super) fn close(&mut self, url: &Url) {
        if let Some(path) = path_of(url) {
            // Before, since the text may be all that there is of the project.
            self.changed(&path);
            self.documents.close(&path);
            self.changed(&path);
        }
    }

    /// Notes that a file was written, made or deleted.
    pub(super) fn file_changed(&mut self, url: &Url) {
        if let Some(path) = path_of(url) {
            self.changed(&path);
        }
    }

    /// Marks the projects that a file may be part of: a project file that comes or goes moves files between projects.
    fn changed(&mut self, path: &Path) {
        if let Some(root) = self.root(path) {
            self.mark(&root);
        }
        let around: Vec<PathBuf> = self
            .projects
            .keys()
            .filter(|root| path.starts_with(root))
            .cloned()
            .collect();
        for root in around {
            self.mark(&root);
        }
    }

    fn mark(&mut self, root: &Path) {
        if self.projects.len() < MAX_PROJECTS || self.projects.contains_key(root) {
            let project = self.projects.entry(root.to_owned()).or_default();
            project.analysis = None;
            project.is_stale = true;
        }
    }

    /// The directory of the project that contains a file.
    fn root(&self, path: &Path) -> Option<PathBuf> {
        path.ancestors()
            .skip(1)
            .find(|directory| {
                let file = directory.join(PROJECT_FILE);
                self.documents.is_open(&file) || file.is_file()
            })
            .map(Path::to_owned)
    }

    /// The project of a file as its newest texts have it, and the file's path in it. None for files of no project.
    pub(super) fn analysis(&mut self, url: &Url) -> Option<(Rc<Analysis>, String)> {
        let path = path_of(url)?;
        let root = self.root(&path)?;
        let relative = relative(&root, &path)?;
        if !self.projects.contains_key(&root) {
            self.mark(&root);
        }
        Some((self.analyse(&root)?, relative))
    }

    fn analyse(&mut self, root: &Path) -> Option<Rc<Analysis>> {
        let project = self.projects.get_mut(root)?;
        if let Some(known) = &project.analysis {
            return Some(known.clone());
        }
        let unsaved = self.documents.below(root);
        let analysis = Rc::new(Analysis::of(root, &self.options, &unsaved));
        project.analysis = Some(analysis.clone());
        Some(analysis)
    }

    /// The problems to publish for one project that has changed; none if none has.
    pub(super) fn next_publications(&mut self) -> Option<Vec<Publication>> {
        let root = self
            .projects
            .iter()
            .find(|(_, project)| project.is_stale)?
            .0
            .clone();
        let gone = !root.join(PROJECT_FILE).is_file() && !self.documents.is_open(&root.join(PROJECT_FILE));
        let found = match gone {
            true => BTreeMap::new(),
            false => self.analyse(&root)?.diagnostics(&self.documents),
        };
        let project = self.projects.get_mut(&root)?;
        project.is_stale = false;
        let before = std::mem::take(&mut project.published);
        let files: BTreeSet<&Url> = before.keys().chain(found.keys()).collect();
        let changed: Vec<Url> = files
            .into_iter()
            .filter(|url| {
                before.get(*url).map_or(&[][..], Vec::as_slice)
                    != found.get(*url).map_or(&[][..], Vec::as_slice)
            })
            .cloned()
            .collect();
        project.published = found.clone();
        if gone {
            self.projects.remove(&root);
        }
        let publication = |url: Url| Publication {
            version: self.documents.version(&url),
            diagnostics: found.get(&url).cloned().unwrap_or_default(),
            url,
        };
        Some(changed.into_iter().map(publication).collect())
    }
}
