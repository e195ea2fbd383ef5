//! The statements of the admin port that are its own. Strings are SQL strings without escapes: a quote is doubled, a
//! backslash is a character.

use std::time::Duration;

use shardwright_rules::roles::SisterReports;
use shardwright_wire::{MysqlError, errors};

use crate::control::{ApplyRequest, Expected};
use crate::kill::KillScope;

/// The longest that an app is refused: a year.
const MOST_MINUTES: u64 = 525_600;

/// A statement of the admin port's own.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AdminStatement {
    /// `SHARDWRIGHT OBSERVE`
    Observe,
    /// `SHARDWRIGHT APPLY EXPECT generation 'fingerprint' [OWNER 'former'] [PROJECT 'name'] [WRITERS 'reports'] AS 'configuration'`
    Apply(ApplyRequest),
    /// `SHARDWRIGHT CHECK EXPECT …`, as an apply: whether it would be refused. Nothing is changed.
    Check(ApplyRequest),
    /// `SHARDWRIGHT RELOAD`: certificates and secrets are read again.
    Reload,
    /// `SHARDWRIGHT PAUSE 'cluster' FOR milliseconds`: statements for the cluster's writer wait.
    Pause {
        /// `clusters.NAME`
        cluster: String,
        /// When it ends by itself.
        time: Duration,
    },
    /// `SHARDWRIGHT RESUME 'cluster'`: they go on.
    Resume(String),
    /// `SHARDWRIGHT PREFER 'server'`: the server writes, in a cluster in which every server could.
    Prefer(String),
    /// `SHARDWRIGHT REFUSE APP 'app' FOR minutes`: its checks are refused.
    RefuseApp {
        /// As it stands in the path of its checks.
        app: String,
        /// When it ends by itself.
        time: Duration,
    },
    /// `SHARDWRIGHT ALLOW APP 'app'`: they are not any more.
    AllowApp(String),
    /// `SHARDWRIGHT ALLOW DIGEST 'digest'`: servers get reads of it again.
    AllowDigest(String),
    /// `SHARDWRIGHT KILL [CONNECTION | QUERY] number`: a client's session ends, or its statement.
    Kill { scope: KillScope, id: u32 },
    /// `EXPLAIN ROUTE 'statement' [FOR 'user'] [SCHEMA 'schema']`
    Explain(Explain),
}

/// A statement whose decision is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Explain {
    pub(super) sql: String,
    pub(super) user: Option<String>,
    pub(super) schema: Option<String>,
}

/// Reads a statement of the admin port's own; `None` for every other statement.
///
/// # Errors
/// It begins like one and is none.
pub(super) fn parse(text: &str) -> Result<Option<AdminStatement>, MysqlError> {
    let mut words = Words { rest: text };
    if words.take("SHARDWRIGHT") {
        if words.take("OBSERVE") {
            return words.end(AdminStatement::Observe);
        }
        if words.take("RELOAD") {
            return words.end(AdminStatement::Reload);
        }
        if words.take("PAUSE") {
            let statement = pause(&mut words)?;
            return words.end(statement);
        }
        if words.take("RESUME") {
            let cluster = words.string()?;
            return words.end(AdminStatement::Resume(cluster));
        }
        if words.take("PREFER") {
            let server = words.string()?;
            return words.end(AdminStatement::Prefer(server));
        }
        if words.take("REFUSE") {
            let statement = refuse(&mut words)?;
            return words.end(statement);
        }
        if words.take("ALLOW") {
            if words.take("DIGEST") {
                let digest = words.string()?;
                return words.end(AdminStatement::AllowDigest(digest));
            }
            words.expect(
                "APP",
                "the forms are SHARDWRIGHT ALLOW APP 'app' and SHARDWRIGHT ALLOW DIGEST 'digest'",
            )?;
            let app = words.string()?;
            return words.end(AdminStatement::AllowApp(app));
        }
        if words.take("KILL") {
            let statement = kill(&mut words)?;
            return words.end(statement);
        }
        if words.take("CHECK") {
            let request = request(&mut words)?;
            return words.end(AdminStatement::Check(request));
        }
        words.expect(
            "APPLY",
            "SHARDWRIGHT is followed by OBSERVE, RELOAD, CHECK, APPLY, PAUSE, RESUME, PREFER, REFUSE, ALLOW or KILL",
        )?;
        let request = request(&mut words)?;
        return words.end(AdminStatement::Apply(request));
    }
    if words.take("EXPLAIN") && words.take("ROUTE") {
        let mut explain = Explain {
            sql: words.string()?,
            user: None,
            schema: None,
        };
        loop {
            if words.take("FOR") {
                explain.user = Some(words.string()?);
            } else if words.take("SCHEMA") {
                explain.schema = Some(words.string()?);
            } else {
                return words.end(AdminStatement::Explain(explain));
            }
        }
    }
    Ok(None)
}

fn pause(words: &mut Words<'_>) -> Result<AdminStatement, MysqlError> {
    const FORM: &str = "the form is SHARDWRIGHT PAUSE 'cluster' FOR milliseconds";
    let cluster = words.string()?;
    words.expect("FOR", FORM)?;
    let time = words.number().and_then(|ms| u64::try_from(ms).ok());
    let time = time.map(Duration::from_millis).ok_or_else(|| syntax(FORM))?;
    Ok(AdminStatement::Pause { cluster, time })
}

fn refuse(words: &mut Words<'_>) -> Result<AdminStatement, MysqlError> {
    const FORM: &str = "the form is SHARDWRIGHT REFUSE APP 'app' FOR minutes, with 1 to 525600 minutes";
    words.expect("APP", FORM)?;
    let app = words.string()?;
    words.expect("FOR", FORM)?;
    let minutes = words.number().and_then(|minutes| u64::try_from(minutes).ok());
    let minutes = minutes.filter(|minutes| (1..=MOST_MINUTES).contains(minutes));
    Ok(AdminStatement::RefuseApp {
        app,
        time: Duration::from_secs(60 * minutes.ok_or_else(|| syntax(FORM))?),
    })
}

fn kill(words: &mut Words<'_>) -> Result<AdminStatement, MysqlError> {
    const FORM: &str = "the form is SHARDWRIGHT KILL [CONNECTION | QUERY] number, with a connection_id of stats_shardwright_sessions";
    let scope = match words.take("QUERY") {
        true => KillScope::Query,
        false => {
            words.take("CONNECTION");
            KillScope::Connection
        }
    };
    let id = words.number().and_then(|id| u32::try_from(id).ok());
    Ok(AdminStatement::Kill {
        scope,
        id: id.ok_or_else(|| syntax(FORM))?,
    })
}

fn request(words: &mut Words<'_>) -> Result<ApplyRequest, MysqlError> {
    const FORM: &str = "the form is SHARDWRIGHT (APPLY | CHECK) EXPECT generation 'fingerprint' [OWNER 'name'] [PROJECT 'name'] [WRITERS 'reports'] AS 'configuration'";
    words.expect("EXPECT", FORM)?;
    let generation = words.number().ok_or_else(|| syntax(FORM))?;
    let fingerprint = words.string()?;
    let mut name = |keyword| words.take(keyword).then(|| words.string()).transpose();
    let owner = name("OWNER")?;
    let project = name("PROJECT")?;
    let reports = match words.take("WRITERS") {
        true => {
            serde_json::from_str(&words.string()?).map_err(|error| syntax(&format!("WRITERS: {error}")))?
        }
        false => SisterReports::new(),
    };
    words.expect("AS", FORM)?;
    Ok(ApplyRequest {
        expected: Expected {
            generation,
            fingerprint,
            owner,
        },
        project,
        reports,
        json: words.string()?,
    })
}

fn syntax(what: &str) -> MysqlError {
    errors::PARSE.with(format_args!("You have an error in your SQL syntax: {what}"))
}

struct Words<'a> {
    rest: &'a str,
}

impl Words<'_> {
    /// Takes a keyword, if it is next.
    fn take(&mut self, keyword: &str) -> bool {
        let trimmed = self.rest.trim_start();
        let Some((word, rest)) = trimmed.split_at_checked(keyword.len()) else {
            return false;
        };
        let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let found = ends && word.eq_ignore_ascii_case(keyword);
        if found {
            self.rest = rest;
        }
        found
    }

    fn expect(&mut self, keyword: &str, form: &str) -> Result<(), MysqlError> {
        if self.take(keyword) {
            Ok(())
        } else {
            Err(syntax(form))
        }
    }

    fn number(&mut self) -> Option<i64> {
        let trimmed = self.rest.trim_start();
        let end = trimmed
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(trimmed.len());
        let (digits, rest) = trimmed.split_at(end);
        let number = digits.parse().ok()?;
        self.rest = rest;
        Some(number)
    }

    fn string(&mut self) -> Result<String, MysqlError> {
        let trimmed = self.rest.trim_start();
        let mut rest = trimmed
            .strip_prefix('\'')
            .ok_or_else(|| syntax("expected a string in single quotes"))?;
        let mut value = String::new();
        loop {
            let (piece, after) = rest
                .split_once('\'')
                .ok_or_else(|| syntax("a string is not closed"))?;
            value.push_str(piece);
            match after.strip_prefix('\'') {
                Some(more) => {
                    value.push('\'');
                    rest = more;
                }
                None => {
                    self.rest = after;
                    return Ok(value);
                }
            }
        }
    }

    fn end(&self, statement: AdminStatement) -> Result<Option<AdminStatement>, MysqlError> {
        let rest = self.rest.trim();
        if rest.is_empty() || rest == ";" {
            Ok(Some(statement))
        } else {
            Err(syntax("there is text after the statement"))
        }
    }
}

#[cfg(test)]
mod tests {
    use shardwright_rules::roles::SisterReport;

    use super::*;

    #[test]
    fn statements_are_read() {
        assert_eq!(
            parse(" shardwright observe ;").unwrap(),
            Some(AdminStatement::Observe)
        );
        assert_eq!(parse("SHARDWRIGHT RELOAD").unwrap(), Some(AdminStatement::Reload));
        assert_eq!(
            parse(r#"SHARDWRIGHT APPLY EXPECT 12 '9c1e' AS '{"error_msg":"don''t \"\\ ''"}'"#).unwrap(),
            Some(AdminStatement::Apply(ApplyRequest {
                expected: Expected {
                    generation: 12,
                    fingerprint: "9c1e".into(),
                    owner: None,
                },
                project: None,
                reports: SisterReports::new(),
                json: r#"{"error_msg":"don't \"\\ '"}"#.into(),
            }))
        );
        assert_eq!(
            parse(
                r#"SHARDWRIGHT APPLY EXPECT 12 '9c1e' OWNER 'old' PROJECT 'new' WRITERS '{"clusters.a":{"writers":["clusters.a.servers.a1"]}}' AS '{}'"#
            )
            .unwrap(),
            Some(AdminStatement::Apply(ApplyRequest {
                expected: Expected {
                    generation: 12,
                    fingerprint: "9c1e".into(),
                    owner: Some("old".into()),
                },
                project: Some("new".into()),
                reports: SisterReports::from([(
                    "clusters.a".into(),
                    SisterReport::Writers(vec!["clusters.a.servers.a1".into()])
                )]),
                json: "{}".into(),
            }))
        );
        assert_eq!(
            parse("EXPLAIN ROUTE 'SELECT ''a''' FOR 'app' SCHEMA 'world'").unwrap(),
            Some(AdminStatement::Explain(Explain {
                sql: "SELECT 'a'".into(),
                user: Some("app".into()),
                schema: Some("world".into())
            }))
        );
        assert_eq!(
            parse("SHARDWRIGHT PAUSE 'clusters.shop' FOR 10000").unwrap(),
            Some(AdminStatement::Pause {
                cluster: "clusters.shop".into(),
                time: Duration::from_secs(10),
            })
        );
        assert_eq!(
            parse("SHARDWRIGHT RESUME 'clusters.shop'").unwrap(),
            Some(AdminStatement::Resume("clusters.shop".into()))
        );
        assert_eq!(
            parse("SHARDWRIGHT PREFER 'clusters.shop.servers.b'").unwrap(),
            Some(AdminStatement::Prefer("clusters.shop.servers.b".into()))
        );
        assert_eq!(
            parse("SHARDWRIGHT REFUSE APP 'archive' FOR 30").unwrap(),
            Some(AdminStatement::RefuseApp {
                app: "archive".into(),
                time: Duration::from_secs(1800),
            })
        );
        assert_eq!(
            parse("SHARDWRIGHT ALLOW APP 'archive'").unwrap(),
            Some(AdminStatement::AllowApp("archive".into()))
        );
        assert_eq!(
            parse("SHARDWRIGHT ALLOW DIGEST '0x1F'").unwrap(),
            Some(AdminStatement::AllowDigest("0x1F".into()))
        );
        for (text, scope) in [
            ("SHARDWRIGHT KILL 7", KillScope::Connection),
            ("shardwright kill connection 7;", KillScope::Connection),
            ("SHARDWRIGHT KILL QUERY 7", KillScope::Query),
        ] {
            assert_eq!(
                parse(text).unwrap(),
                Some(AdminStatement::Kill { scope, id: 7 }),
                "{text}"
            );
        }
        assert_eq!(parse("SELECT 1").unwrap(), None);
        assert_eq!(parse("EXPLAIN SELECT 1").unwrap(), None);
        assert_eq!(parse("SHARDWRIGHTS").unwrap(), None);
    }

    #[test]
    fn what_is_nearly_a_statement_is_an_error() {
        for text in [
            "SHARDWRIGHT",
            "SHARDWRIGHT OBSERVE everything",
            "SHARDWRIGHT APPLY",
            "SHARDWRIGHT APPLY EXPECT x '' AS ''",
            "SHARDWRIGHT APPLY EXPECT 1 '' AS 'a",
            "SHARDWRIGHT APPLY EXPECT 1 '' AS 'a' b",
            "SHARDWRIGHT APPLY EXPECT 1 '' PROJECT AS 'a'",
            "SHARDWRIGHT APPLY EXPECT 1 '' WRITERS 'a' AS 'a'",
            "SHARDWRIGHT APPLY EXPECT 1 '' PROJECT 'a' OWNER 'b' AS 'a'",
            "SHARDWRIGHT PAUSE 'clusters.shop'",
            "SHARDWRIGHT PAUSE 'clusters.shop' FOR ever",
            "SHARDWRIGHT RESUME",
            "SHARDWRIGHT REFUSE APP 'archive'",
            "SHARDWRIGHT REFUSE APP 'archive' FOR 0",
            "SHARDWRIGHT REFUSE APP 'archive' FOR 99999999999999999999",
            "SHARDWRIGHT ALLOW 'archive'",
            "SHARDWRIGHT KILL",
            "SHARDWRIGHT KILL QUERY",
            "SHARDWRIGHT KILL 4294967296",
            "SHARDWRIGHT KILL USER 'app'",
            "EXPLAIN ROUTE SELECT 1",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_text_passes_through_a_string(json in ".*", generation in 0_i64..) {
            let quoted = json.replace('\'', "''");
            let text = format!("SHARDWRIGHT APPLY EXPECT {generation} '' AS '{quoted}'");
            let expected = Expected { generation, fingerprint: String::new(), owner: None };
            proptest::prop_assert_eq!(
                parse(&text).unwrap(),
                Some(AdminStatement::Apply(ApplyRequest {
                    expected,
                    project: None,
                    reports: SisterReports::new(),
                    json,
                }))
            );
        }

        #[test]
        fn no_text_is_a_panic(text in "(SHARDWRIGHT|EXPLAIN ROUTE|APPLY|EXPECT|'| |[0-9]|\\PC){0,12}") {
            // Whether it is a statement does not matter here.
            let _statement = parse(&text);
        }
    }
}
