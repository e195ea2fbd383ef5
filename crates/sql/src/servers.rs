//! Which releases of which server may run a text: they read some texts otherwise, and have other functions built in.

use std::ops::BitOr;

/// A set of release lines of MySQL and MariaDB. A release that is newer than all of them counts to the last line of its
/// family, an older one to the first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Servers(u16);

/// Each line, its name, and the first release of it: major, minor, patch.
const MARIADB: [(Servers, &str, [u32; 3]); 5] = [
    (Servers::MARIADB_10_5, "MariaDB before 10.6", [0, 0, 0]),
    (Servers::MARIADB_10_6, "MariaDB 10.6", [10, 6, 0]),
    (Servers::MARIADB_10_11, "MariaDB 10.11", [10, 11, 0]),
    (Servers::MARIADB_11_4, "MariaDB 11.4", [11, 4, 0]),
    (Servers::MARIADB_11_8, "MariaDB 11.8", [11, 8, 0]),
];

const MYSQL: [(Servers, &str, [u32; 3]); 6] = [
    (Servers::MYSQL_5_7, "MySQL 5.7", [0, 0, 0]),
    (Servers::MYSQL_8_0_11, "MySQL 8.0 before 8.0.32", [8, 0, 0]),
    (Servers::MYSQL_8_0, "MySQL 8.0", [8, 0, 32]),
    (Servers::MYSQL_8_4, "MySQL 8.4", [8, 1, 0]),
    (Servers::MYSQL_9_0, "MySQL 9.0", [9, 0, 0]),
    (Servers::MYSQL_9_6, "MySQL 9.6", [9, 6, 0]),
];

impl Servers {
    /// None.
    pub const NONE: Self = Self(0);
    /// Before 10.6.
    pub const MARIADB_10_5: Self = Self(1);
    /// From 10.6 on.
    pub const MARIADB_10_6: Self = Self(1 << 1);
    /// From 10.11 on.
    pub const MARIADB_10_11: Self = Self(1 << 2);
    /// From 11.4 on.
    pub const MARIADB_11_4: Self = Self(1 << 3);
    /// From 11.8 on.
    pub const MARIADB_11_8: Self = Self(1 << 4);
    /// 5.7 and older.
    pub const MYSQL_5_7: Self = Self(1 << 5);
    /// 8.0 before 8.0.32.
    pub const MYSQL_8_0_11: Self = Self(1 << 6);
    /// From 8.0.32 on.
    pub const MYSQL_8_0: Self = Self(1 << 7);
    /// 8.1 to 8.4.
    pub const MYSQL_8_4: Self = Self(1 << 8);
    /// From 9.0 on.
    pub const MYSQL_9_0: Self = Self(1 << 9);
    /// From 9.6 on: the functions of old hashes are a component's.
    pub const MYSQL_9_6: Self = Self(1 << 10);

    /// Every line that is maintained: the servers of whom nothing is known.
    pub const ANY: Self = Self(
        Self::MARIADB_10_11.0
            | Self::MARIADB_11_4.0
            | Self::MARIADB_11_8.0
            | Self::MYSQL_8_0.0
            | Self::MYSQL_8_4.0
            | Self::MYSQL_9_0.0
            | Self::MYSQL_9_6.0,
    );
    /// All lines of MariaDB.
    pub const ALL_MARIADB: Self = Self(0b1_1111);
    /// All lines of MySQL.
    pub const ALL_MYSQL: Self = Self(0b111_1110_0000);
    /// All lines.
    pub const ALL: Self = Self(Self::ALL_MARIADB.0 | Self::ALL_MYSQL.0);

    /// To these `$tag$ … $tag$` is one literal.
    pub(crate) const QUOTES_BY_DOLLAR: Self = Self(Self::MYSQL_9_0.0 | Self::MYSQL_9_6.0);
    /// To these `$` is a letter; releases of MySQL between the two belong to neither.
    pub(crate) const NAMES_BY_DOLLAR: Self =
        Self(Self::ALL_MARIADB.0 | Self::MYSQL_5_7.0 | Self::MYSQL_8_0_11.0);

    /// The line of a server that greets with this version; `None` if it says none.
    pub fn of_version(version: &str) -> Option<Self> {
        let is_mariadb = version.contains("MariaDB");
        // MariaDB stands behind it for clients that take no other first number.
        let bare = version.strip_prefix("5.5.5-").filter(|_| is_mariadb);
        let mut numbers = bare
            .unwrap_or(version)
            .split(|c: char| !c.is_ascii_digit())
            .map_while(|number| number.parse().ok());
        let mut next = || numbers.next();
        let release = [next()?, next()?, next().unwrap_or(0)];
        let lines: &[(Self, &str, [u32; 3])] = if is_mariadb { &MARIADB } else { &MYSQL };
        let line = lines.iter().rev().find(|(_, _, first)| *first <= release)?;
        Some(line.0)
    }

    /// Whether all of these are in `other`.
    #[inline]
    pub const fn are_in(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether one of these is in `other`.
    #[inline]
    pub const fn meet(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// These without those of `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// These and those of `other`.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The names of the lines.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let lines = MARIADB.into_iter().chain(MYSQL);
        lines.filter_map(move |(line, name, _)| line.are_in(self).then_some(name))
    }
}

impl Default for Servers {
    fn default() -> Self {
        Self::ANY
    }
}

impl BitOr for Servers {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.and(other)
    }
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_counts_to_the_line_of_its_release() {
        for (version, expected) in [
            ("10.11.19-MariaDB-0+deb12u1", Some(Servers::MARIADB_10_11)),
            ("5.5.5-10.6.3-MariaDB", Some(Servers::MARIADB_10_6)),
            ("10.4.34-MariaDB-log", Some(Servers::MARIADB_10_5)),
            ("11.3.2-MariaDB", Some(Servers::MARIADB_10_11)),
            ("12.1.0-MariaDB", Some(Servers::MARIADB_11_8)),
            ("5.7.44-log", Some(Servers::MYSQL_5_7)),
            ("8.0.30-shardwright", Some(Servers::MYSQL_8_0_11)),
            ("8.0.36-28", Some(Servers::MYSQL_8_0)),
            ("8.4.3", Some(Servers::MYSQL_8_4)),
            ("9.0.1", Some(Servers::MYSQL_9_0)),
            ("9.7.4-2", Some(Servers::MYSQL_9_6)),
            ("10.0.0", Some(Servers::MYSQL_9_6)),
            ("8.0", Some(Servers::MYSQL_8_0_11)),
            ("unknown", None),
            ("", None),
        ] {
            assert_eq!(Servers::of_version(version), expected, "{version}");
        }
    }
}
