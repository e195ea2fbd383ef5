//! SET statements to ProxySQL 2.7.1: those that it follows it answers itself, the others go to a server and lock the
//! session on their hostgroup.

use shardwright_sql::LexMode;
use shardwright_sql::set::{Scope, SetItem, Value, items};

use super::begins_with;
use crate::{OwnAnswer, Rejection, SessionView};

/// What becomes of a statement behind the rules.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// It is sent where rules say.
    Sent,
    /// The engine answers.
    Answered(OwnAnswer),
    /// It is sent where rules say, and the session stays locked on that hostgroup. No flag is set.
    Locks,
    /// It is sent to the user's hostgroup, whatever rules say; no flag is set.
    Default,
    /// The engine knows no such character set.
    Refused(Box<Rejection>),
}

/// `SET autocommit = 0` in the forms that the engine reads byte by byte, and what it switches to.
pub(super) fn autocommit(text: &[u8]) -> Option<bool> {
    let behind = ["SET @@session.autocommit", "set autocommit"]
        .into_iter()
        .find(|begin| begins_with(text, begin))
        .map(|begin| &text[begin.len()..])?;
    let rest = String::from_utf8_lossy(behind).to_ascii_lowercase();
    // Each word once: the first of its kind.
    let rest = rest.replacen("false", "0    ", 1).replacen("true", "1   ", 1);
    let rest = rest.replacen("off", "0  ", 1).replacen("on", "1 ", 1);
    let behind = rest.trim_start_matches(' ').strip_prefix('=')?;
    let mut switch = None;
    for byte in behind.bytes() {
        match (byte, switch) {
            (b'0' | b'1', None) => switch = Some(byte == b'1'),
            (b' ' | b'/', Some(_)) => break,
            (b' ' | b'/', None) => {}
            _ => return None,
        }
    }
    switch
}

/// `SET NAMES` in up to 94 bytes and without a comma: answered, or refused for a character set that the engine does not
/// know.
pub(super) fn names(text: &[u8]) -> Option<Verdict> {
    let short = [
        "SET SESSION character_set_server",
        "SET SESSION character_set_results",
    ]
    .into_iter()
    .find(|begin| begins_with(text, begin) && text.len() < 55);
    let value = match short {
        // The engine makes a SET NAMES of these.
        Some(begin) => {
            let equals = text[begin.len()..].iter().position(|byte| *byte == b'=')?;
            &text[begin.len() + equals + 1..]
        }
        None if begins_with(text, "SET NAMES ") && text.len() < 95 && !text.contains(&b',') => &text[10..],
        None => return None,
    };
    let value = String::from_utf8_lossy(value);
    let mut words = value.split([' ', '\'', '"']).filter(|word| !word.is_empty());
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some(charset), None, ..) => Some(character_set(charset, None)),
        // What stands behind a collation is not read.
        (Some(charset), Some(word), Some(collation), _) if word.eq_ignore_ascii_case("collate") => {
            Some(character_set(charset, Some(collation)))
        }
        _ => None,
    }
}

/// The answer to a character set and a collation: OK where the engine knows them.
fn character_set(charset: &str, collation: Option<&str>) -> Verdict {
    let lower = charset.to_ascii_lowercase();
    let is_known = CHARACTER_SETS.contains(&lower.as_str());
    let message = match collation {
        None if is_known => return Verdict::Answered(OwnAnswer::Set),
        None => format!("Unknown character set: '{charset}'"),
        Some(collation) => {
            let written = collation.to_ascii_lowercase();
            let of_charset = written.strip_prefix(lower.as_str());
            if is_known && of_charset.is_some_and(|rest| rest.is_empty() || rest.starts_with('_')) {
                return Verdict::Answered(OwnAnswer::Set);
            }
            format!("Unknown character set '{charset}' or collation '{collation}'")
        }
    };
    Verdict::Refused(Box::new(Rejection {
        code: 1115,
        sqlstate: "42000",
        refusal: None,
        message,
        address: None,
    }))
}

/// What becomes of a SET whose rules have been looked at; `has_multiplex`: one of them says `multiplex`.
pub(super) fn verdict(session: &SessionView<'_>, text: &[u8], digest: &[u8], has_multiplex: bool) -> Verdict {
    let not_followed = if has_multiplex {
        Verdict::Default
    } else {
        Verdict::Locks
    };
    let several = digest.iter().position(|byte| *byte == b';');
    if several.is_some_and(|at| at + 1 < digest.len()) {
        return Verdict::Locks;
    }
    let has_at = text.contains(&b'@');
    let text = &without_comments(text);
    let items = items(text, LexMode::default());
    let answered = Verdict::Answered(OwnAnswer::Set);
    if is_of_transactions(text) {
        return answered;
    }
    match items.as_slice() {
        [SetItem::Transaction { scope, .. }] if *scope != Scope::Global => return answered,
        [SetItem::CharacterSet(Some(charset))] => {
            return character_set(&String::from_utf8_lossy(charset), None);
        }
        [SetItem::CharacterSet(None)] => return answered,
        _ => {}
    }
    let begins_known =
        begins_with(digest, "SET NAMES") || items.first().is_some_and(|item| begins_followed(item, text));
    let has_autocommit = String::from_utf8_lossy(digest)
        .to_ascii_lowercase()
        .contains("autocommit");
    if !begins_known && !has_autocommit {
        return not_followed;
    }
    let ends_transaction = items.contains(&SetItem::Autocommit(true)) && session.autocommit_off;
    if ends_transaction && session.transaction.is_some() {
        return Verdict::Sent;
    }
    // A comment of several lines is not cut out, and nothing behind its beginning is read.
    let has_comment = text.windows(2).any(|pair| pair == b"/*");
    if has_comment || items.is_empty() || items.iter().any(|item| is_unreadable(item, text)) {
        return if has_at { not_followed } else { Verdict::Default };
    }
    if items.iter().all(|item| is_followed(item, text)) {
        let unknown = items.iter().find_map(|item| match item {
            SetItem::Names {
                charset: Some(charset),
                collation,
            } => {
                let collation = collation.as_deref().map(String::from_utf8_lossy);
                let verdict = character_set(&String::from_utf8_lossy(charset), collation.as_deref());
                matches!(verdict, Verdict::Refused(_)).then_some(verdict)
            }
            _ => None,
        });
        unknown.unwrap_or(answered)
    } else {
        not_followed
    }
}

/// `SET [SESSION] TRANSACTION` with a level or an access mode; what stands behind that is not read.
fn is_of_transactions(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text).to_ascii_lowercase();
    let mut words = text.split_ascii_whitespace().skip(1).peekable();
    words.next_if_eq(&"session");
    if words.next() != Some("transaction") {
        return false;
    }
    let rest: Vec<&str> = words.collect();
    let rest = rest.join(" ");
    let forms = [
        "isolation level repeatable read",
        "isolation level read committed",
        "isolation level read uncommitted",
        "isolation level serializable",
        "read only",
        "read write",
    ];
    forms.iter().any(|form| rest.starts_with(form))
}

/// What the engine reads of a SET: `/* … */` is cut out wherever it stands, on one line; of `/*!40101 SET … */` in front the
/// SET is left.
pub(super) fn without_comments(text: &[u8]) -> Vec<u8> {
    let code = text.strip_prefix(b"/*!").filter(|rest| {
        rest.len() > 10 && rest[..5].iter().all(u8::is_ascii_digit) && rest[5..].starts_with(b" SET")
    });
    let mut read = match code.and_then(|rest| Some((rest, last_end(rest)?))) {
        Some((rest, end)) => [&rest[6..end], &rest[end + 2..]].concat(),
        None => text.to_vec(),
    };
    let mut from = 0;
    while let Some(start) = find(&read, from, b"/*") {
        let end = find(&read, start + 2, b"*/").filter(|end| !read[start..*end].contains(&b'\n'));
        match end {
            Some(end) => {
                read.drain(start..end + 2);
                from = start;
            }
            None => from = start + 2,
        }
    }
    let end = read
        .iter()
        .rposition(|byte| !matches!(byte, b' ' | b';'))
        .map_or(0, |at| at + 1);
    read.truncate(end);
    read
}

fn find(text: &[u8], from: usize, wanted: &[u8; 2]) -> Option<usize> {
    let rest = text.get(from..)?;
    rest.windows(2)
        .position(|pair| pair == wanted)
        .map(|at| from + at)
}

/// The last `*/` of the first line.
fn last_end(text: &[u8]) -> Option<usize> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    line.windows(2).rposition(|pair| pair == b"*/")
}

/// Whether the engine begins to read a SET whose first assignment is this.
fn begins_followed(item: &SetItem<'_>, text: &[u8]) -> bool {
    match item {
        SetItem::Unknown => first_name(text).is_some_and(|name| is_followed_name(&name)),
        SetItem::Variable { scope, name, .. } => *scope != Scope::Global && is_followed_name(name),
        SetItem::Names { .. } | SetItem::Autocommit(_) => true,
        _ => false,
    }
}

/// What the engine's reader does not get to the end of.
fn is_unreadable(item: &SetItem<'_>, text: &[u8]) -> bool {
    match item {
        SetItem::Unknown => true,
        SetItem::Variable {
            name,
            value: Value::Expression(span),
            ..
        } => {
            // Of sql_mode it reads CONCAT and its kin over the present value.
            let written = span.of(text).to_ascii_lowercase();
            let calls = [&b"concat("[..], b"replace(", b"ifnull("];
            let selected = written
                .strip_prefix(b"(select ")
                .unwrap_or(&written)
                .trim_ascii_start();
            let is_call = name == "sql_mode" && calls.iter().any(|call| selected.starts_with(call));
            !is_call && !is_bare_value(&written)
        }
        SetItem::Variable {
            value: Value::Text(value),
            ..
        } => !is_quoted_value(value),
        SetItem::Variable {
            value: Value::Number(number),
            ..
        } => number.contains(&b'.'),
        _ => false,
    }
}

/// Whether the engine reads a value between quotes (2.7.1, lib/set_parser.cpp, `generateRE_parse1v2`): nothing, words with
/// hyphens, words with commas, switches, a time zone.
fn is_quoted_value(value: &[u8]) -> bool {
    let are_words = |separator: u8, least: usize| {
        let mut words = value.split(|&byte| byte == separator);
        words.clone().count() >= least && words.all(is_word)
    };
    let is_switch = |part: &[u8]| {
        let mut halves = part.splitn(2, |&byte| byte == b'=');
        let (name, state) = (
            halves.next().unwrap_or_default(),
            halves.next().unwrap_or_default(),
        );
        is_word(name) && (state.eq_ignore_ascii_case(b"on") || state.eq_ignore_ascii_case(b"off"))
    };
    value.iter().all(|&byte| byte == b' ')
        || are_words(b'-', 1)
        || are_words(b',', 2)
        || value.split(|&byte| byte == b',').all(is_switch)
        || is_time_zone(value)
}

/// `+01:00`, `Europe/Berlin`.
fn is_time_zone(value: &[u8]) -> bool {
    if let [b'+' | b'-', offset @ ..] = value {
        let is_digit = |byte: &u8| byte.is_ascii_digit();
        return matches!(offset, [hours @ .., b':', _, _] if matches!(hours.len(), 1 | 2)
            && hours.iter().all(is_digit) && offset[hours.len() + 1..].iter().all(is_digit));
    }
    value.split(|&byte| byte == b'/').count() == 2 && value.split(|&byte| byte == b'/').all(is_word)
}

/// Whether the engine reads what is no word and stands without quotes: words with hyphens, a number with a sign.
fn is_bare_value(written: &[u8]) -> bool {
    match written {
        [b'+' | b'-', number @ ..] => {
            let number = number.trim_ascii_start();
            !number.is_empty() && number.iter().all(u8::is_ascii_digit)
        }
        _ => written.split(|&byte| byte == b'-').all(is_word),
    }
}

fn is_word(text: &[u8]) -> bool {
    !text.is_empty()
        && text
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// The variable that a SET of the session names first; also where no value stands behind it.
fn first_name(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text).to_ascii_lowercase();
    let rest = text.trim_start().strip_prefix("set ")?.trim_start();
    let rest = rest.strip_prefix("session ").unwrap_or(rest).trim_start();
    let rest = ["@@session.", "@@local.", "@@"]
        .into_iter()
        .find_map(|scope| rest.strip_prefix(scope))
        .unwrap_or(rest)
        .trim_start_matches('`');
    let end = rest.find(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
    Some(rest[..end.unwrap_or(rest.len())].to_owned())
}

fn is_followed(item: &SetItem<'_>, text: &[u8]) -> bool {
    match item {
        SetItem::Names { .. } | SetItem::Autocommit(_) => true,
        SetItem::Variable { scope, name, value } => {
            *scope != Scope::Global && is_followed_name(name) && has_value(name, value, text)
        }
        _ => false,
    }
}

fn is_followed_name(name: &str) -> bool {
    BOOLEANS.contains(&name) || NUMBERS.contains(&name) || TEXTS.contains(&name) || IGNORED.contains(&name)
}

/// Whether the engine reads the value of a variable that it follows.
fn has_value(name: &str, value: &Value<'_>, text: &[u8]) -> bool {
    let word = match value {
        Value::Word(word) => String::from_utf8_lossy(word).into_owned(),
        Value::Text(word) => String::from_utf8_lossy(word).into_owned(),
        Value::Number(word) => String::from_utf8_lossy(word).into_owned(),
        Value::Default => "default".to_owned(),
        Value::Expression(span) if is_bare_value(span.of(text)) => {
            String::from_utf8_lossy(span.of(text)).into_owned()
        }
        Value::Expression(_) => return true,
    };
    let word = word.to_ascii_lowercase();
    if word.contains('@') {
        return false;
    }
    if BOOLEANS.contains(&name) {
        return matches!(&*word, "0" | "1" | "on" | "off" | "true" | "false");
    }
    if name == "query_cache_type" && matches!(&*word, "on" | "off" | "true" | "false" | "demand") {
        return true;
    }
    if NUMBERS.contains(&name) {
        let may_be_default = matches!(name, "sql_select_limit" | "max_join_size");
        return word.bytes().all(|byte| byte.is_ascii_digit()) || (may_be_default && word == "default");
    }
    match name {
        "session_track_gtids" => matches!(&*word, "own_gtid" | "off" | "all_gtids"),
        "tx_read_only" | "transaction_read_only" => {
            matches!(&*word, "0" | "1" | "on" | "off" | "true" | "false")
        }
        _ => true,
    }
}

const BOOLEANS: [&str; 12] = [
    "aurora_read_replica_read_committed",
    "foreign_key_checks",
    "innodb_strict_mode",
    "innodb_table_locks",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_generate_invisible_primary_key",
    "sql_log_bin",
    "sql_quote_show_create",
    "sql_require_primary_key",
    "sql_safe_updates",
    "unique_checks",
];

const NUMBERS: [&str; 21] = [
    "auto_increment_increment",
    "auto_increment_offset",
    "group_concat_max_len",
    "innodb_lock_wait_timeout",
    "join_buffer_size",
    "lock_wait_timeout",
    "long_query_time",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_sort_length",
    "max_statement_time",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_use_condition_selectivity",
    "query_cache_type",
    "sort_buffer_size",
    "sql_select_limit",
    "timestamp",
    "tmp_table_size",
    "wsrep_sync_wait",
];

const TEXTS: [&str; 20] = [
    "character_set_client",
    "character_set_connection",
    "character_set_database",
    "character_set_results",
    "collation_connection",
    "default_storage_engine",
    "default_tmp_storage_engine",
    "group_replication_consistency",
    "lc_messages",
    "lc_time_names",
    "log_slow_filter",
    "optimizer_switch",
    "session_track_gtids",
    "sql_mode",
    "time_zone",
    "transaction_isolation",
    "transaction_read_only",
    "tx_isolation",
    "tx_read_only",
    "wsrep_osu_method",
];

/// Answered with OK, and forgotten.
const IGNORED: [&str; 8] = [
    "interactive_timeout",
    "net_buffer_length",
    "net_read_timeout",
    "net_write_timeout",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "session_track_schema",
    "wait_timeout",
];

const CHARACTER_SETS: [&str; 41] = [
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866",
    "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8",
    "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7",
    "tis620", "ucs2", "ujis", "utf16", "utf32", "utf8", "utf8mb3", "utf8mb4",
];
