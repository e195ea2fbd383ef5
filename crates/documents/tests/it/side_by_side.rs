//! Files that are read side by side give what they give one after the other.

use shardwright_diagnostics::Sources;
use shardwright_documents::{read, read_all};

#[test]
fn large_files_are_read_as_small_ones_are() {
    let lines = |name: &str, count: usize| -> String {
        (0..count)
            .map(|n| format!("{name}-{n}: {{keys: [{n}], cluster: c{n}}}\n"))
            .collect()
    };
    let files: Vec<(String, Vec<u8>)> = vec![
        ("a.yaml".into(), lines("a", 6_000).into_bytes()),
        ("b.yaml".into(), b"b: [".to_vec()),
        ("c.yaml".into(), b"\xff".to_vec()),
        ("d.yaml".into(), lines("d", 6_000).into_bytes()),
        ("e.yaml".into(), Vec::new()),
    ];
    let (mut one, mut all) = (Sources::new(), Sources::new());
    let expected: Vec<_> = files
        .iter()
        .map(|(path, bytes)| read(&mut one, path, bytes))
        .collect();
    let given = files
        .iter()
        .map(|(path, bytes)| (path.as_str(), bytes.as_slice()));
    let found = read_all(&mut all, given);
    assert_eq!(found.len(), expected.len());
    for ((document, problems), (expected, expected_problems)) in found.iter().zip(&expected) {
        assert_eq!(document.file, expected.file);
        assert_eq!(document.root, expected.root);
        assert_eq!(document.complete, expected.complete);
        assert_eq!(problems.sorted(), expected_problems.sorted());
    }
}
