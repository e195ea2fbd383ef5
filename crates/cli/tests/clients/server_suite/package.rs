//! The tests of Debian's package `mariadb-test`, in a copy whose clients give a password: the proxy takes no empty ones.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::bytes::Regex;
use tempfile::TempDir;

const PACKAGE: &str = "/usr/share/mysql/mysql-test";

/// The password of `root`; without a letter that any of the languages around it quotes.
pub(super) const PASSWORD: &str = "PASS";

/// What a test needs beside a running server, by the suffix of the file that says so.
const NEEDS_A_SERVER_OF_ITS_OWN: [&str; 7] = [
    ".opt",
    "-master.opt",
    "-slave.opt",
    "-master.sh",
    "-slave.sh",
    ".cnf",
    ".combinations",
];

/// The copy.
pub(super) struct Package {
    directory: TempDir,
}

impl Package {
    pub(super) fn copy() -> Self {
        let package = Path::new(PACKAGE);
        assert!(
            package.join("main").exists(),
            "{PACKAGE}/main is missing: `scripts/install-test-packages` installs Debian's mariadb-test"
        );
        let directory = tempfile::Builder::new().prefix("sw-suite-").tempdir().unwrap();
        for part in ["main", "include"] {
            copy_with_passwords(&package.join(part), &directory.path().join(part));
        }
        for part in ["std_data", "suite", "lib", "plugin"] {
            symlink(package.join(part), directory.path().join(part)).unwrap();
        }
        Self { directory }
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn test(&self, name: &str) -> PathBuf {
        self.path().join(format!("main/{name}.test"))
    }

    pub(super) fn result(&self, name: &str) -> PathBuf {
        self.path().join(format!("main/{name}.result"))
    }

    /// The tests that a running server is enough for, by name.
    pub(super) fn tests(&self) -> BTreeSet<String> {
        let main = self.path().join("main");
        let disabled = fs::read_to_string(main.join("disabled.def")).unwrap();
        let disabled: BTreeSet<&str> = disabled
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| Some(line.split_once(':')?.0.trim()))
            .collect();
        let names = fs::read_dir(&main).unwrap().filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".test").map(str::to_owned)
        });
        let runs = |name: &String| {
            let needs = |suffix: &&str| main.join(format!("{name}{suffix}")).exists();
            self.result(name).exists()
                && !disabled.contains(name.as_str())
                && !NEEDS_A_SERVER_OF_ITS_OWN.iter().any(needs)
        };
        names.filter(runs).collect()
    }
}

fn copy_with_passwords(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let suffix = path.extension().and_then(|suffix| suffix.to_str());
        if path.is_dir() {
            copy_with_passwords(&path, &target);
        } else if suffix.is_some_and(|suffix| ["test", "inc", "result"].contains(&suffix)) {
            fs::write(target, with_passwords(&fs::read(path).unwrap())).unwrap();
        } else {
            symlink(path, target).unwrap();
        }
    }
}

/// `connect (con1,localhost,root,,)`, `connect (con1,localhost,root)` and `change_user root` have an empty password, and a result
/// repeats them.
fn with_passwords(text: &[u8]) -> Vec<u8> {
    static EMPTY: LazyLock<Regex> = LazyLock::new(|| {
        let root = r"(?-u)(?P<root>connect *\(?[^,\n;]+, *[^,\n;]*, *root *|change_user +root *)";
        Regex::new(&format!(
            r"{root}(?:(?P<more>, *)(?P<next>[,);])|(?P<end>[);\n]))"
        ))
        .unwrap()
    });
    let replacement = format!("${{root}},{PASSWORD}${{next}}${{end}}");
    EMPTY.replace_all(text, replacement.as_bytes()).into_owned()
}
