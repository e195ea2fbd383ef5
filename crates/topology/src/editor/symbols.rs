//! Names where they are defined and where they are meant, for tools that lead from one to the other.
//!
//! Names are found in the trees alone, so that a project with errors has them too. Generators run here as they do
//! in resolution: `shard-$(n:03)` defines the name of each of its instances, and a reference means those of its own.

mod collector;
mod text;

use std::sync::Arc;

use rustc_hash::FxHashSet;
use shardwright_diagnostics::{FileId, Span};

pub use crate::fields::refers::Refers;
use crate::load::Loaded;
use crate::model::NamePattern;
use crate::project_files::Options;

/// A name in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    /// The name without quotes; the whole scalar where the name was not written letter by letter.
    pub span: Span,
    /// Whether it is defined or meant here.
    pub role: Role,
    /// The objects that it stands for.
    pub meaning: Meaning,
    /// Whether it holds `$( … )`.
    pub is_template: bool,
}

/// Whether a name is defined or meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The name of the object whose value stands at this place.
    Definition(Span),
    /// A name of something that is defined elsewhere, or nowhere.
    Reference,
}

/// The objects that a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    /// Objects by address, in order; for a template, those of each instance.
    Addresses(Box<[Arc<str>]>),
    /// Every object of a section whose name matches.
    Glob {
        /// The section with its dot: `clusters.`
        section: Arc<str>,
        /// What the names match.
        pattern: NamePattern,
    },
}

impl Meaning {
    fn covers(&self, address: &str) -> bool {
        match self {
            Self::Addresses(addresses) => addresses.binary_search_by(|known| (**known).cmp(address)).is_ok(),
            Self::Glob { section, pattern } => address
                .strip_prefix(&**section)
                .is_some_and(|name| !name.contains('.') && pattern.matches(name)),
        }
    }
}

impl Symbol {
    /// Whether it is defined here.
    #[must_use]
    pub const fn is_definition(&self) -> bool {
        matches!(self.role, Role::Definition(_))
    }

    /// The addresses that it stands for; none for a glob.
    #[must_use]
    pub fn addresses(&self) -> &[Arc<str>] {
        match &self.meaning {
            Meaning::Addresses(addresses) => addresses,
            Meaning::Glob { .. } => &[],
        }
    }
}

/// Every name of a project, by place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Symbols {
    symbols: Vec<Symbol>,
    complete: bool,
}

/// Finds the names of the files of a project, whether it could be resolved or not.
#[must_use]
pub fn symbols(loaded: &Loaded, options: &Options) -> Symbols {
    let (mut symbols, complete) = collector::collect(loaded, options);
    symbols.sort_by_key(|symbol| (symbol.span, !symbol.is_definition()));
    symbols.dedup();
    Symbols { symbols, complete }
}

impl Symbols {
    /// Whether generators were followed to their end; where not, names of later instances are missing.
    #[must_use]
    pub const fn complete(&self) -> bool {
        self.complete
    }

    /// Every name, in the order of the files.
    pub fn iter(&self) -> std::slice::Iter<'_, Symbol> {
        self.symbols.iter()
    }

    /// The name at a byte of a file; the shortest where one holds another. The end of a name counts.
    #[must_use]
    pub fn at(&self, file: FileId, offset: u32) -> Option<&Symbol> {
        self.symbols
            .iter()
            .filter(|symbol| {
                let span = symbol.span;
                span.file == file && span.start <= offset && offset <= span.end
            })
            .min_by_key(|symbol| (symbol.span.end - symbol.span.start, !symbol.is_definition()))
    }

    /// Where the objects that a name stands for are defined.
    #[must_use]
    pub fn definitions(&self, of: &Symbol) -> Vec<&Symbol> {
        self.symbols
            .iter()
            .filter(|symbol| symbol.is_definition())
            .filter(|symbol| {
                symbol
                    .addresses()
                    .iter()
                    .any(|address| of.meaning.covers(address))
            })
            .collect()
    }

    /// The references that may mean one of these addresses.
    #[must_use]
    pub fn references(&self, addresses: &[Arc<str>]) -> Vec<&Symbol> {
        let wanted: FxHashSet<&str> = addresses.iter().map(|address| &**address).collect();
        let means = |symbol: &Symbol| match &symbol.meaning {
            Meaning::Addresses(addresses) => addresses.iter().any(|address| wanted.contains(&**address)),
            glob @ Meaning::Glob { .. } => wanted.iter().any(|address| glob.covers(address)),
        };
        self.symbols
            .iter()
            .filter(|symbol| !symbol.is_definition() && means(symbol))
            .collect()
    }

    /// The names of the objects directly below a prefix such as `clusters.`, in the order of definition.
    pub fn names<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.symbols
            .iter()
            .filter(|symbol| symbol.is_definition())
            .flat_map(Symbol::addresses)
            .filter_map(move |address| address.strip_prefix(prefix))
            .filter(|name| !name.contains('.'))
    }

    /// Whether an object has this address.
    #[must_use]
    pub fn is_defined(&self, address: &str) -> bool {
        self.symbols
            .iter()
            .any(|symbol| symbol.is_definition() && symbol.meaning.covers(address))
    }
}
