//! Names of the language for things that have none: hosts, hostgroups, comments of rows.

use std::collections::BTreeSet;
use std::net::IpAddr;

use shardwright_topology::is_name;

/// The longest name that is made of a text.
const MOST_BYTES: usize = 40;

/// Names that are given once each.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeSet<String>);

impl Names {
    /// The first of these that is free, or the last one with a number behind it.
    pub(crate) fn take(&mut self, wanted: &[String]) -> String {
        let last = wanted.last().map_or("unnamed", String::as_str);
        let numbered = (2_u32..).map(|number| format!("{last}-{number}"));
        let mut names = wanted.iter().cloned().chain(numbered);
        let free = names.find(|name| !name.is_empty() && !self.0.contains(name));
        let name = free.expect("numbers do not end");
        self.0.insert(name.clone());
        name
    }
}

/// A text as a name: what a name cannot hold becomes `-`. Empty where nothing is left.
pub(crate) fn slug(text: &str) -> String {
    let mut name = String::new();
    for character in text.chars() {
        let allowed = character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        match allowed {
            true => name.push(character),
            false if !name.ends_with('-') => name.push('-'),
            false => {}
        }
        if name.len() >= MOST_BYTES {
            break;
        }
    }
    name.trim_matches('-').to_owned()
}

/// What people call a server: the first part of its host name; the whole address where that is what it has.
pub(crate) fn server(host: &str, port: u16) -> Vec<String> {
    let first = match host.parse::<IpAddr>() {
        Ok(_) => host,
        Err(_) => host.trim_start_matches('/').split('.').next().unwrap_or(host),
    };
    let name = slug(first);
    vec![name.clone(), format!("{name}-{port}")]
}

/// The name of a user in the files: the one that it logs in with, where that is a name.
pub(crate) fn user(login: &str) -> Vec<String> {
    if is_name(login) {
        return vec![login.to_owned()];
    }
    let slug = slug(login);
    vec![if slug.is_empty() { "user".to_owned() } else { slug }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_what_is_there() {
        assert_eq!(server("db1.shop.internal", 3306), ["db1", "db1-3306"]);
        assert_eq!(server("10.0.0.7", 3306), ["10-0-0-7", "10-0-0-7-3306"]);
        assert_eq!(server("2001:db8::1", 3307), ["2001-db8-1", "2001-db8-1-3307"]);
        assert_eq!(slug(" The shop's writer! "), "The-shop-s-writer");
        assert_eq!(slug("…"), "");
        let mut names = Names::default();
        let wanted = ["a".to_owned(), "a-1".to_owned()];
        let taken: Vec<String> = (0..4).map(|_| names.take(&wanted)).collect();
        assert_eq!(taken, ["a", "a-1", "a-1-2", "a-1-3"]);
        assert_eq!(names.take(&[String::new(), "hg1".to_owned()]), "hg1");
    }
}
