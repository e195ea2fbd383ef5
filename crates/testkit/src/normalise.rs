//! Output made equal from run to run: paths and ports replaced by names.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

static LOOPBACK_PORT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(127\.0\.0\.1|localhost|\[::1\]):[0-9]{1,5}\b").expect("a constant pattern")
});

/// Replacements applied to what a program printed, longest first.
#[derive(Debug, Clone, Default)]
pub struct Normaliser {
    replacements: Vec<(String, String)>,
}

impl Normaliser {
    /// Shows `text` as `name`.
    pub fn replace(&mut self, text: impl Into<String>, name: impl Into<String>) {
        self.replacements.push((text.into(), name.into()));
        self.replacements
            .sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    }

    /// Shows a path as `name`, also where the program resolved symbolic links in it.
    pub fn replace_path(&mut self, path: &Path, name: &str) {
        self.replace(path.to_string_lossy(), name);
        if let Ok(resolved) = path.canonicalize()
            && resolved != path
        {
            self.replace(resolved.to_string_lossy(), name);
        }
    }

    /// Shows `address` with its port called `name`: `127.0.0.1:[name]`.
    pub fn name_port(&mut self, address: SocketAddr, name: &str) {
        for host in [address.ip().to_string(), "localhost".to_owned()] {
            self.replace(format!("{host}:{}", address.port()), format!("{host}:[{name}]"));
        }
    }

    /// `output` with known texts replaced, and any other loopback port shown as `[port]`.
    #[must_use]
    pub fn apply(&self, output: &str) -> String {
        let mut text = output.to_owned();
        for (from, to) in &self.replacements {
            text = text.replace(from, to);
        }
        LOOPBACK_PORT.replace_all(&text, "$1:[port]").into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_ports_get_their_names_and_others_the_common_one() {
        let mut normaliser = Normaliser::default();
        normaliser.name_port("127.0.0.1:4100".parse().unwrap(), "admin");
        let shown =
            normaliser.apply("admin 127.0.0.1:4100, also localhost:4100; peer [::1]:77, 10.0.0.1:3306");
        assert_eq!(
            shown,
            "admin 127.0.0.1:[admin], also localhost:[admin]; peer [::1]:[port], 10.0.0.1:3306"
        );
    }

    #[test]
    fn a_longer_path_wins_over_the_directory_it_is_in() {
        let mut normaliser = Normaliser::default();
        normaliser.replace_path(Path::new("/t/x"), "$TMP");
        normaliser.replace_path(Path::new("/t/x/project"), "$PROJECT");
        assert_eq!(
            normaliser.apply("/t/x/project/a.yaml /t/x/home"),
            "$PROJECT/a.yaml $TMP/home"
        );
    }
}
