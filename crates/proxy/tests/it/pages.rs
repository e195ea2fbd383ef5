//! Parts of the repository's pages that tests make.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A part of a page, between two lines of its own.
pub(crate) struct Part {
    /// Relative to the repository.
    pub(crate) page: &'static str,
    pub(crate) begin: &'static str,
    pub(crate) end: &'static str,
}

impl Part {
    /// Writes it if `INSTA_UPDATE=always`; it has to be what the page says otherwise.
    pub(crate) fn keep(&self, made: &str) {
        if !self.renew(made) {
            assert!(
                self.read().0 == self.with(made),
                "{} is stale; INSTA_UPDATE=always writes it",
                self.page
            );
        }
    }

    /// Writes it if `INSTA_UPDATE=always`, and says whether that is so.
    pub(crate) fn renew(&self, made: &str) -> bool {
        let is_asked = std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always");
        if is_asked {
            fs::write(repository().join(self.page), self.with(made)).unwrap();
        }
        is_asked
    }

    /// The page with this part of it.
    fn with(&self, made: &str) -> String {
        let (_, before, after) = self.read();
        format!("{before}{}{made}{}{after}", self.begin, self.end)
    }

    /// The page, and what is before and behind the part.
    fn read(&self) -> (String, String, String) {
        let page = fs::read_to_string(repository().join(self.page)).unwrap();
        let (before, rest) = page.split_once(self.begin).expect("the page has this part");
        let (_, after) = rest.split_once(self.end).expect("the part has an end");
        let (before, after) = (before.to_owned(), after.to_owned());
        (page, before, after)
    }
}
