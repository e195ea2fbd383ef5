//! How often keys are asked for, read from a file.
//!
//! The first line says which of three kinds of file it is: `key,count`; hit counters of a live proxy (`rule_id` and
//! `hits`, as in `stats_mysql_query_rules`); and an export of `stats_mysql_query_digest`. Columns are separated by tabs
//! where the first line has one, else by commas; a value may stand in double quotes.

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    rows: Vec<TrafficRow>,
}

/// How often something was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrafficRow {
    /// What was counted.
    pub(crate) of: TrafficSubject,
    /// How often.
    pub(crate) hits: u64,
}

/// What was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TrafficSubject {
    /// Statements with this key.
    Key(String),
    /// Statements that a rule took.
    Rule(u32),
    /// Statements of one digest.
    Statements {
        /// Where they went.
        hostgroup: Option<u32>,
        /// The session's schema.
        schema: String,
        /// The user.
        user: String,
        /// The digest text.
        text: String,
    },
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct TrafficError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// Rows that are read; a file with more is refused, so that memory has a bound.
const MOST_ROWS: usize = 20_000_000;
/// Errors that are reported.
const MOST_ERRORS: usize = 20;

/// The indices of the columns that count.
enum Columns {
    Keys { key: usize, count: usize },
    Rules { rule: usize, hits: usize },
    Digests { names: [Option<usize>; 4], count: usize },
}

impl Traffic {
    /// Reads a file. Every line that cannot be read is reported, up to a limit.
    pub fn parse(text: &str) -> Result<Self, Vec<TrafficError>> {
        // Spreadsheets begin a file with a byte order mark.
        let mut lines = text
            .trim_start_matches('\u{feff}')
            .lines()
            .enumerate()
            .map(|(at, line)| (at + 1, line.trim_end_matches('\r')))
            .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
            .peekable();
        let Some(&(first, header)) = lines.peek() else {
            return Err(vec![error(1, "the file has no rows; write key,count lines")]);
        };
        let separator = if header.contains('\t') { '\t' } else { ',' };
        let columns = match Columns::of(&split(header, separator)) {
            Some((columns, is_header)) => {
                if is_header {
                    lines.next();
                }
                columns
            }
            None => {
                let what = "the columns are not known: expected key,count, or rule_id and hits, or an export of \
                            stats_mysql_query_digest with count_star";
                return Err(vec![error(first, what)]);
            }
        };
        let mut traffic = Self::default();
        let mut errors = Vec::new();
        for (line, row) in lines {
            if traffic.rows.len() == MOST_ROWS {
                errors.push(error(line, "the file has more than 20,000,000 rows"));
                break;
            }
            match columns.read(&split(row, separator)) {
                Ok(row) => traffic.rows.push(row),
                Err(what) => errors.push(error(line, what)),
            }
            if errors.len() == MOST_ERRORS {
                break;
            }
        }
        if errors.is_empty() {
            Ok(traffic)
        } else {
            Err(errors)
        }
    }

    /// What was counted, and how often.
    pub(crate) fn rows(&self) -> &[TrafficRow] {
        &self.rows
    }
}

fn error(line: usize, what: impl Into<String>) -> TrafficError {
    TrafficError {
        line,
        what: what.into(),
    }
}

impl Columns {
    /// Whether the first line is a header too; without one there are two columns, of which the second is a number.
    fn of(header: &[String]) -> Option<(Self, bool)> {
        let names: Vec<String> = header
            .iter()
            .map(|name| name.trim().to_ascii_lowercase())
            .collect();
        let at = |wanted: &[&str]| names.iter().position(|name| wanted.contains(&name.as_str()));
        let count = at(&["count", "hits", "count_star", "weight"]);
        if let (Some(rule), Some(hits)) = (at(&["rule_id"]), count) {
            return Some((Columns::Rules { rule, hits }, true));
        }
        if let (Some(key), Some(count)) = (at(&["key"]), count) {
            return Some((Columns::Keys { key, count }, true));
        }
        let names = [
            at(&["hostgroup", "hostgroup_id"]),
            at(&["schemaname", "schema"]),
            at(&["username", "user"]),
            at(&["digest_text"]),
        ];
        if let (Some(count), true) = (count, names.iter().any(Option::is_some)) {
            return Some((Columns::Digests { names, count }, true));
        }
        match header {
            [_, count] if count.trim().parse::<u64>().is_ok() => {
                Some((Columns::Keys { key: 0, count: 1 }, false))
            }
            _ => None,
        }
    }

    fn read(&self, row: &[String]) -> Result<TrafficRow, String> {
        let cell = |at: usize| {
            row.get(at)
                .ok_or_else(|| format!("the row has {} columns, too few", row.len()))
        };
        let number = |at: usize, what: &str| {
            let text = cell(at)?.trim();
            text.parse::<u64>().map_err(|_| {
                format!(
                    "{what} `{}` is not a whole number",
                    shardwright_diagnostics::shortened(text, 40)
                )
            })
        };
        Ok(match *self {
            Columns::Keys { key, count } => TrafficRow {
                of: TrafficSubject::Key(cell(key)?.clone()),
                hits: number(count, "the count")?,
            },
            Columns::Rules { rule, hits } => {
                let id = number(rule, "the rule id")?;
                let id = u32::try_from(id).map_err(|_| format!("rule id {id} is too large"))?;
                TrafficRow {
                    of: TrafficSubject::Rule(id),
                    hits: number(hits, "the number of hits")?,
                }
            }
            Columns::Digests {
                names: [hostgroup, schema, user, text],
                count,
            } => {
                let value = |at: Option<usize>| at.map_or(Ok(String::new()), |at| cell(at).cloned());
                // Answers of the cache have hostgroup -1.
                let hostgroup = hostgroup
                    .map(cell)
                    .transpose()?
                    .and_then(|text| text.trim().parse().ok());
                let of = TrafficSubject::Statements {
                    hostgroup,
                    schema: value(schema)?,
                    user: value(user)?,
                    text: value(text)?,
                };
                TrafficRow {
                    of,
                    hits: number(count, "count_star")?,
                }
            }
        })
    }
}

/// The columns of a line; quotes inside a quoted value are doubled.
fn split(line: &str, separator: char) -> Vec<String> {
    let mut columns = Vec::new();
    let mut column = String::new();
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                column.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if column.is_empty() => quoted = true,
            _ if character == separator && !quoted => columns.push(std::mem::take(&mut column)),
            _ => column.push(character),
        }
    }
    columns.push(column);
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(key: &str) -> TrafficSubject {
        TrafficSubject::Key(key.to_owned())
    }

    #[test]
    fn the_first_line_says_the_kind() {
        for (text, expected) in [
            (
                "key,count\n17,5\n\"a,b\",6\n",
                vec![(key("17"), 5), (key("a,b"), 6)],
            ),
            ("17\t5\n18\t0\n", vec![(key("17"), 5), (key("18"), 0)]),
            (
                "# from px-a1\nrule_id\thits\n100412\t9\n",
                vec![(TrafficSubject::Rule(100_412), 9)],
            ),
            (
                "hostgroup,schemaname,username,digest_text,count_star\r\n1004,shop,app,\"SELECT \"\"a\"\"\",81\r\n",
                vec![(
                    TrafficSubject::Statements {
                        hostgroup: Some(1004),
                        schema: "shop".to_owned(),
                        user: "app".to_owned(),
                        text: "SELECT \"a\"".to_owned(),
                    },
                    81,
                )],
            ),
        ] {
            let traffic = Traffic::parse(text).expect(text);
            let rows: Vec<_> = traffic
                .rows()
                .iter()
                .map(|row| (row.of.clone(), row.hits))
                .collect();
            assert_eq!(rows, expected);
        }
    }

    #[test]
    fn what_cannot_be_read_is_reported_with_its_line() {
        for (text, expected) in [
            ("", vec![(1, "the file has no rows; write key,count lines")]),
            (
                "key,count\n1,2\n3\n4,-1\n",
                vec![
                    (3, "the row has 1 columns, too few"),
                    (4, "the count `-1` is not a whole number"),
                ],
            ),
            (
                "rule_id,hits\n99999999999,1\n",
                vec![(2, "rule id 99999999999 is too large")],
            ),
            (
                "\na,b,c\n",
                vec![(
                    2,
                    "the columns are not known: expected key,count, or rule_id and hits, or an export of \
                 stats_mysql_query_digest with count_star",
                )],
            ),
        ] {
            let errors = Traffic::parse(text).expect_err(text);
            let reported: Vec<(usize, &str)> = errors
                .iter()
                .map(|error| (error.line, error.what.as_str()))
                .collect();
            assert_eq!(reported, expected);
        }
    }
}
