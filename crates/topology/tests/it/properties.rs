//! What must hold for all projects: neither the order of files nor how objects are spread over them decides anything, and
//! no input makes resolution panic.

use std::path::Path;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use shardwright_diagnostics::render;
use shardwright_topology::{InputFile, Loaded, Options, load};

const SAMPLE: &str = include_str!("../valid/supported.yaml");

fn shown(loaded: &Loaded) -> String {
    render::text::render(&loaded.problems, &loaded.sources, false)
}

fn load_files(files: Vec<InputFile>) -> Loaded {
    load(files, &Options::default())
}

/// Every fixture of `tests/invalid` and the sample, with the name that its topology file gets.
fn fixtures() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/invalid");
    let mut fixtures: Vec<(String, String)> = std::fs::read_dir(directory)
        .expect("the corpus is there")
        .map(|entry| {
            let path = entry.expect("it can be listed").path();
            let name = path
                .file_stem()
                .and_then(|name| name.to_str())
                .expect("names are plain");
            (
                name.to_owned(),
                std::fs::read_to_string(&path).expect("it can be read"),
            )
        })
        // These make two million objects, or refuse to: right, and slow to repeat.
        .filter(|(name, _)| !name.starts_with("too_many"))
        .collect();
    fixtures.push(("sample".to_owned(), SAMPLE.to_owned()));
    fixtures.sort();
    fixtures
}

/// The entries of the top-level sections of the sample's topology, each as a text that is a topology by itself.
fn pieces() -> Vec<String> {
    let files = crate::support::files("sample", SAMPLE);
    let topology = files
        .iter()
        .find(|file| file.path.starts_with("topology/"))
        .expect("the sample holds a topology");
    let text = String::from_utf8(topology.bytes.clone()).expect("it is text");
    let mut pieces: Vec<String> = Vec::new();
    let mut section = String::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let is_blank = line.trim().is_empty() || line.trim_start().starts_with('#');
        match indent {
            _ if is_blank => {}
            0 if line.starts_with("version") => {}
            0 => section = format!("{line}\n"),
            2 => pieces.push(format!("{section}{line}\n")),
            _ => {
                let piece = pieces
                    .last_mut()
                    .expect("an object stands around what is indented");
                piece.push_str(line);
                piece.push('\n');
            }
        }
    }
    pieces
}

#[test]
fn the_sample_falls_into_pieces() {
    assert!(pieces().len() >= 10, "{} pieces", pieces().len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_order_in_which_files_are_given_decides_nothing(fixture in select(fixtures()), seed in any::<Index>()) {
        let (name, text) = fixture;
        let mut files = crate::support::files(&name, &text);
        files.push(InputFile { path: "topology/zz.yaml".into(), bytes: "clusters:\n  zz: {type: single, servers: {s: {host: h}}}\n".into() });
        files.push(InputFile { path: "topology/00.yaml".into(), bytes: "users:\n  zz: {password: {env: Z}, cluster: zz}\n".into() });
        let first = load_files(files.clone());
        let at = seed.index(files.len());
        files.rotate_left(at);
        let rotated = load_files(files.clone());
        files.reverse();
        let reversed = load_files(files);
        for other in [rotated, reversed] {
            prop_assert_eq!(&first.project, &other.project, "{}", name);
            prop_assert_eq!(shown(&first), shown(&other), "{}", name);
            prop_assert_eq!(first.fault, other.fault);
        }
    }

    #[test]
    fn an_object_means_the_same_in_whichever_file_it_stands(places in proptest::collection::vec(0usize..4, 64)) {
        let project = InputFile { path: "shardwright.yaml".into(), bytes: crate::support::PROJECT.into() };
        let mut texts = vec![String::from("version: 1\n"); 4];
        // In the order of the sample: the order of definition is by file, then by line.
        let mut spread: Vec<Vec<(String, String)>> = vec![Vec::new(); 4];
        for (piece, place) in pieces().into_iter().zip(places.iter().cycle()) {
            let (section, body) = piece.split_once('\n').expect("a piece begins with its section");
            spread[*place].push((section.to_owned(), body.to_owned()));
        }
        for (text, pieces) in texts.iter_mut().zip(&spread) {
            let mut sections: Vec<&String> = pieces.iter().map(|(section, _)| section).collect();
            sections.dedup();
            for section in sections {
                text.push_str(section);
                text.push('\n');
                pieces.iter().filter(|(of, _)| of == section).for_each(|(_, body)| text.push_str(body));
            }
        }
        let files = texts.into_iter().zip(["a", "b", "c", "d"]);
        let mut files: Vec<InputFile> = files
            .map(|(text, name)| InputFile { path: format!("topology/{name}.yaml"), bytes: text.into_bytes() })
            .collect();
        files.push(project);
        let loaded = load_files(files);
        let whole = crate::support::load_text("sample", SAMPLE);
        let names = |loaded: &Loaded| {
            let topology = &loaded.project.as_ref().map(|project| &project.topology);
            topology.map(|topology| {
                let mut names: Vec<String> = topology.clusters.names().chain(topology.users.names()).map(str::to_owned).collect();
                names.extend(topology.shard_maps.iter().flat_map(|map| map.shards.iter().map(move |shard| format!("{}/{}", map.name, shard.name))));
                names.sort();
                names
            })
        };
        prop_assert!(loaded.project.is_some(), "{}", shown(&loaded));
        prop_assert_eq!(names(&loaded), names(&whole));
    }

    #[test]
    fn no_mixture_of_fixtures_panics(
        fixture in select(fixtures()),
        other in select(fixtures()),
        cut in any::<Index>(),
        from in any::<Index>(),
        bytes in proptest::collection::vec(any::<u8>(), 0..4),
    ) {
        let (name, text) = fixture;
        let (_, other) = other;
        let mut mixed = text.into_bytes();
        mixed.truncate(cut.index(mixed.len() + 1));
        mixed.extend(bytes);
        mixed.extend_from_slice(&other.as_bytes()[from.index(other.len() + 1)..]);
        let text = String::from_utf8_lossy(&mixed).into_owned();
        let mut files = crate::support::files(&name, &text);
        let first = load_files(files.clone());
        files.reverse();
        prop_assert_eq!(first.project.is_some(), !first.problems.has_errors());
        let mut paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
        paths.sort();
        paths.dedup();
        if paths.len() == files.len() {
            prop_assert_eq!(shown(&first), shown(&load_files(files)));
        }
    }
}
