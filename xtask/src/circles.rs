//! Circles of files within a crate: files that need each other to be understood.
//!
//! A file uses another when a path in it leads to an item that the other defines; re-exports are followed to the definition. The
//! idea: each file is one module, its inline modules included; `use` declarations and paths in code become edges between files;
//! the strongly connected components with more than one file are the circles.
//!
//! A module and the modules below it are one room: `mod.rs` may hold the type that the files below give methods to. So edges are
//! counted between the two rooms in which a path's ends stand where they part: `session/text.rs` → `pool/lease.rs` is an edge from
//! `session` to `pool`, and `session/text.rs` → `session/holds.rs` one inside `session`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// Rooms of one folder that lead to each other.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Circle {
    /// The module that holds the rooms, such as `proxy` or `proxy::session`.
    pub(crate) within: String,
    /// Names of the rooms, ordered.
    pub(crate) rooms: Vec<String>,
    /// For each step of the circle, the files that take it.
    pub(crate) edges: Vec<String>,
}

/// A module's path below its crate.
type Module = Vec<String>;

/// What a crate's files define and name.
#[derive(Default)]
struct Crate {
    modules: BTreeSet<Module>,
    /// Where a name that a module imports or re-exports stands.
    imports: BTreeMap<(Module, String), Module>,
    /// Paths as they are written in each module.
    paths: BTreeSet<(Module, Module)>,
}

/// The circles of every crate below `root`.
pub(crate) fn circles(root: &Path) -> io::Result<Vec<Circle>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join("crates"))? {
        let folder = entry?.path();
        let source = folder.join("src");
        if !source.is_dir() {
            continue;
        }
        let mut files = Vec::new();
        collect(&source, &mut files)?;
        let mut read = Crate::default();
        for path in files {
            read.add(
                path.strip_prefix(&source).unwrap_or(&path),
                &fs::read_to_string(&path)?,
            )
            .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        found.extend(read.circles(&name));
    }
    found.sort();
    Ok(found)
}

/// A sentence for each circle.
pub(crate) fn problems(root: &Path) -> io::Result<Vec<String>> {
    let circles = circles(root)?;
    Ok(circles
        .iter()
        .map(|circle| {
            format!(
                "{}: {} lead to each other; `cargo xtask circles` lists the files",
                circle.within,
                circle.rooms.join(", ")
            )
        })
        .collect())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// `session/mod.rs` and `session.rs` are both `session`; `lib.rs` and `main.rs` are the crate itself.
fn module_of(path: &Path) -> Module {
    let mut module: Module = path
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if module
        .last()
        .is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main"))
    {
        module.pop();
    }
    module
}

/// Reads one file; inline modules count as the file that holds them, tests are left out.
struct Reader<'c> {
    module: Module,
    read: &'c mut Crate,
}

impl Reader<'_> {
    fn import(&mut self, tree: &syn::UseTree, before: &[String]) {
        let mut path = before.to_vec();
        match tree {
            syn::UseTree::Path(part) => {
                path.push(part.ident.to_string());
                self.import(&part.tree, &path);
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, &path);
                }
            }
            syn::UseTree::Name(name) => self.imported(path, &name.ident.to_string(), &name.ident.to_string()),
            syn::UseTree::Rename(name) => {
                self.imported(path, &name.ident.to_string(), &name.rename.to_string());
            }
            syn::UseTree::Glob(_) => {
                self.read.paths.insert((self.module.clone(), path));
            }
        }
    }

    fn imported(&mut self, mut path: Module, name: &str, shown: &str) {
        if name != "self" {
            path.push(name.to_owned());
        }
        self.read.paths.insert((self.module.clone(), path.clone()));
        self.read
            .imports
            .insert((self.module.clone(), shown.to_owned()), path);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // A re-export is a door to what stands elsewhere, not a use of it; whoever goes through it is counted.
        let before = self.read.paths.clone();
        self.import(&item.tree, &[]);
        if !matches!(item.vis, syn::Visibility::Inherited) {
            self.read.paths = before;
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let is_test = item
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("cfg"));
        if !is_test {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            let path = path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string())
                .collect();
            self.read.paths.insert((self.module.clone(), path));
        }
        visit::visit_path(self, path);
    }
}

impl Crate {
    /// Adds a file; `path` is relative to `src`.
    fn add(&mut self, path: &Path, text: &str) -> syn::Result<()> {
        let file = syn::parse_file(text)?;
        let module = module_of(path);
        self.modules.insert(module.clone());
        Reader { module, read: self }.visit_file(&file);
        Ok(())
    }

    /// The module that defines what `path`, written in `module`, names; none when it is of another crate or a type's item.
    fn definition(&self, module: &Module, path: &[String], depth: usize) -> Option<Module> {
        // Re-exports lead to their definition in a few steps; a longer way is a circle of re-exports.
        if depth > 16 {
            return None;
        }
        let mut at = module.clone();
        let mut rest = path;
        let mut is_anchored = false;
        while let Some((first, after)) = rest.split_first() {
            match first.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => {
                    at.pop();
                }
                _ => break,
            }
            is_anchored = true;
            rest = after;
        }
        for (index, name) in rest.iter().enumerate() {
            let mut below = at.clone();
            below.push(name.clone());
            if self.modules.contains(&below) {
                at = below;
                is_anchored = true;
                continue;
            }
            if let Some(import) = self.imports.get(&(at.clone(), name.clone())) {
                let mut through = import.clone();
                through.extend_from_slice(&rest[index + 1..]);
                if through != path || at != *module {
                    return self.definition(&at, &through, depth + 1);
                }
            }
            break;
        }
        is_anchored.then_some(at)
    }

    fn circles(&self, name: &str) -> Vec<Circle> {
        // For each folder, which of its rooms lead to which, and the files that do.
        let mut folders: BTreeMap<Module, BTreeMap<(String, String), BTreeSet<String>>> = BTreeMap::new();
        for (from, path) in &self.paths {
            let Some(to) = self.definition(from, path, 0) else {
                continue;
            };
            let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            let (Some(a), Some(b)) = (from.get(shared), to.get(shared)) else {
                continue;
            };
            folders
                .entry(from[..shared].to_vec())
                .or_default()
                .entry((a.clone(), b.clone()))
                .or_default()
                .insert(format!(
                    "{} -> {}",
                    from[shared..].join("/"),
                    to[shared..].join("/")
                ));
        }
        let mut circles = Vec::new();
        for (folder, edges) in folders {
            let rooms: BTreeSet<&String> = edges.keys().flat_map(|(a, b)| [a, b]).collect();
            let reach: BTreeMap<&String, BTreeSet<&String>> = rooms
                .iter()
                .map(|room| (*room, reachable(room, &edges)))
                .collect();
            let mut seen = BTreeSet::new();
            for room in &rooms {
                let circle: Vec<String> = reach[room]
                    .iter()
                    .filter(|other| reach[**other].contains(room))
                    .map(|other| (*other).clone())
                    .collect();
                if circle.len() > 1 && seen.insert(circle.clone()) {
                    let taken = edges
                        .iter()
                        .filter(|((a, b), _)| circle.contains(a) && circle.contains(b))
                        .flat_map(|(_, files)| files.iter().cloned())
                        .collect();
                    let mut within = vec![name.to_owned()];
                    within.extend(folder.iter().cloned());
                    circles.push(Circle {
                        within: within.join("::"),
                        rooms: circle,
                        edges: taken,
                    });
                }
            }
        }
        circles
    }
}

fn reachable<'e>(
    from: &'e String,
    edges: &'e BTreeMap<(String, String), BTreeSet<String>>,
) -> BTreeSet<&'e String> {
    let mut seen = BTreeSet::new();
    let mut left = vec![from];
    while let Some(room) = left.pop() {
        for (_, to) in edges.keys().filter(|(a, _)| a == room) {
            if seen.insert(to) {
                left.push(to);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(files: &[(&str, &str)]) -> Vec<String> {
        let mut read = Crate::default();
        for (path, text) in files {
            read.add(Path::new(path), text).unwrap();
        }
        let circles = read.circles("made");
        circles
            .iter()
            .map(|circle| {
                let edges = circle.edges.join(", ");
                format!("{}: {} ({edges})", circle.within, circle.rooms.join(" "))
            })
            .collect()
    }

    #[test]
    fn no_module_leads_back_to_one_that_uses_it() {
        assert_eq!(problems(&crate::root()).unwrap(), [""; 0]);
    }

    #[test]
    fn circles_are_found_through_doors_and_folders() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use b::deep::Thing;"),
            ("a.rs", "use crate::Thing; pub fn first() -> Thing { Thing }"),
            ("b.rs", "pub mod deep;"),
            (
                "b/deep.rs",
                "pub struct Thing; fn second() { crate::a::first(); }",
            ),
        ];
        assert_eq!(shown(&files), ["made: a b (a -> b/deep, b/deep -> a)"]);
    }

    #[test]
    fn a_module_and_its_children_are_one_room() {
        let files = [
            ("lib.rs", "mod a; mod other;"),
            (
                "a.rs",
                "mod below; pub struct Thing; pub fn first() { below::second(&Thing); }",
            ),
            ("a/below.rs", "use super::Thing; pub fn second(_: &Thing) {}"),
            (
                "other.rs",
                "use crate::a::{self, Thing}; fn third(_: Thing) { a::first(); }",
            ),
        ];
        assert_eq!(shown(&files), [""; 0]);
    }

    #[test]
    fn tests_do_not_count() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub fn first() { crate::b::second(); }"),
            (
                "b.rs",
                "pub fn second() {} #[cfg(test)] mod tests { fn t() { crate::a::first(); } }",
            ),
        ];
        assert_eq!(shown(&files), [""; 0]);
    }
}
