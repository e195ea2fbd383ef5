//! The refusals of shard maps: what is missing, what is accepted, and the code to look up.

use serde::Serialize;
use shardwright_sql::Servers;

use crate::key_column::{KeyDoubt, PassedOn};
use crate::{Address, AssumedTable, CommentForm, Finder, KeyTemplate, Statement};

/// Why a statement is refused. The number is that of the page that `shardwright explain` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refusal {
    /// The statement has no key.
    MissingKey,
    /// No shard holds the key.
    UnknownKey,
    /// The statement has several keys.
    ConflictingKeys,
    /// It cannot be decided which one shard could answer.
    NotOneShard,
    /// The statement names the schema of another shard.
    OtherShardsSchema,
    /// The key belongs elsewhere than the open transaction.
    OpenTransactionElsewhere,
    /// An engine annotation that the user is not allowed.
    Annotation,
    /// Tables named without a schema.
    Unqualified,
    /// BEGIN without a key.
    BeginWithoutKey,
    /// A view, where the key of a column map is only believed of base tables.
    NotABaseTable,
    /// The text ends inside a literal or a comment, or seems to: a NUL byte hides from patterns what stands behind it.
    Unreadable,
    /// The key is of a shard that is refused.
    RefusedShard,
    /// The statement is not provably a read, and its user only reads.
    ReadsOnly,
    /// A route refuses the statement.
    Route,
    /// The key column compares or stores a value otherwise than the map does.
    KeyColumn,
}

impl Refusal {
    /// Every reason there is.
    pub const ALL: [Refusal; 15] = [
        Refusal::MissingKey,
        Refusal::UnknownKey,
        Refusal::ConflictingKeys,
        Refusal::NotOneShard,
        Refusal::OtherShardsSchema,
        Refusal::OpenTransactionElsewhere,
        Refusal::Annotation,
        Refusal::Unqualified,
        Refusal::BeginWithoutKey,
        Refusal::NotABaseTable,
        Refusal::Unreadable,
        Refusal::RefusedShard,
        Refusal::ReadsOnly,
        Refusal::Route,
        Refusal::KeyColumn,
    ];

    /// The code to look up.
    pub fn code(self) -> &'static str {
        match self {
            Refusal::MissingKey => "SW351",
            Refusal::UnknownKey => "SW352",
            Refusal::ConflictingKeys => "SW353",
            Refusal::NotOneShard => "SW354",
            Refusal::OtherShardsSchema => "SW355",
            Refusal::OpenTransactionElsewhere => "SW356",
            Refusal::Annotation => "SW357",
            Refusal::Unqualified => "SW358",
            Refusal::BeginWithoutKey => "SW359",
            Refusal::NotABaseTable => "SW360",
            Refusal::Unreadable => "SW361",
            Refusal::RefusedShard => "SW362",
            Refusal::ReadsOnly => "SW363",
            Refusal::Route => "SW364",
            Refusal::KeyColumn => "SW365",
        }
    }

    /// Why a shard map refuses in this way, in a sentence that holds for all its statements: for engines that can say no
    /// more to an execution of a prepared statement.
    pub fn reason(self, map: &str, key: &str, finders: &[Finder]) -> String {
        match self {
            Refusal::MissingKey => missing_key(map, key, finders),
            Refusal::UnknownKey => unknown_key(map, key, None, &[]),
            Refusal::ConflictingKeys => conflicting_keys(map, key, &[]),
            Refusal::BeginWithoutKey => begin_without_key(map, key, finders),
            Refusal::NotOneShard => self.message(&format!("cannot be placed on one shard: shard map {map}")),
            Refusal::OtherShardsSchema => self.message(&format!(
                "shard map {map}: the session's schema is not one of the statement's {key}"
            )),
            Refusal::Unqualified => self.message(&format!(
                "shard map {map}: tables named without a schema cannot be placed"
            )),
            Refusal::OpenTransactionElsewhere => {
                self.message("the statement belongs elsewhere than the open transaction")
            }
            Refusal::Annotation => self.message("engine annotations are refused"),
            Refusal::Unreadable => self.message("the text ends inside a literal or a comment"),
            Refusal::NotABaseTable => self.message("the statement names a view"),
            Refusal::RefusedShard => self.message(&format!("shard map {map} refuses this {key}")),
            Refusal::ReadsOnly => self.message(READS_ONLY),
            Refusal::Route => self.message(ROUTE_REFUSES),
            Refusal::KeyColumn => self.message(&format!(
                "shard map {map}: the key column can compare or store this {key} as another one"
            )),
        }
    }

    /// `SW351: what`: the text that a client gets, on every engine.
    pub fn message(self, what: &str) -> String {
        format!("{}: {what}", self.code())
    }

    /// What the client gets, in the words of `what`.
    pub fn because(self, what: &str, address: Option<Address>) -> Rejection {
        self.rejection(self.message(what), address)
    }

    /// What the client gets; the message begins with the code.
    pub fn rejection(self, message: String, address: Option<Address>) -> Rejection {
        Rejection::by_rule(Some(self), message, address)
    }

    /// The reason that a text begins with: of a rule's `error_msg`, and of a refusing hostgroup. The rows of an engine have
    /// no other place for it.
    pub fn of_message(message: &str) -> Option<Self> {
        let (code, _) = message.split_once(':')?;
        Self::ALL.into_iter().find(|refusal| refusal.code() == code)
    }
}

/// What is refused of users who only read.
pub const READS_ONLY: &str = "the user only reads (role: reader), and the statement is not provably a read, session setup or a transaction";

/// What executions of prepared statements are told that a route refuses.
pub const ROUTE_REFUSES: &str = "a route refuses the statement";

/// A key of a shard that is refused, in the words of the topology. `shard` is its short name: `tenants/t42`.
pub fn refused_shard(shard: &str, why: &str) -> String {
    Refusal::RefusedShard.message(&format!("{why} ({shard})"))
}

/// The error that a client gets instead of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejection {
    /// MySQL error number.
    pub code: u16,
    /// SQLSTATE, five characters.
    pub sqlstate: &'static str,
    /// The reason, where it is one that has a page.
    #[serde(skip)]
    pub refusal: Option<Refusal>,
    /// What is wrong, and what would be accepted.
    pub message: String,
    /// The object of the topology that asks for it.
    pub address: Option<Address>,
}

impl Rejection {
    /// Error 1148, SQLSTATE 42000: what ProxySQL sends for `error_msg`.
    pub(crate) fn by_rule(refusal: Option<Refusal>, message: String, address: Option<Address>) -> Self {
        Self {
            code: 1148,
            sqlstate: "42000",
            refusal,
            message,
            address,
        }
    }
}

/// XA while a transaction waits that BEGIN has begun; `None`: XA RECOVER, which asks the server.
pub(crate) fn xa_within_transaction(statement: &Statement<'_>) -> Option<Rejection> {
    let outside = || Rejection {
        code: 1400,
        sqlstate: "XAE09",
        refusal: None,
        message: "XAER_OUTSIDE: Some work is done outside global transaction".to_owned(),
        address: None,
    };
    if statement.begins_xa() {
        return Some(if statement.resumes_xa() {
            no_xa_to_resume()
        } else {
            outside()
        });
    }
    if statement.recovers_xa() {
        return None;
    }
    let is_mariadb = statement.mode().servers.meet(Servers::ALL_MARIADB);
    Some(match statement.ends_xa() && is_mariadb {
        true => outside(),
        false => not_in_state("NON-EXISTING"),
    })
}

/// BEGIN, COMMIT, a second XA START while an XA transaction waits.
pub fn within_active_xa() -> Rejection {
    not_in_state("ACTIVE")
}

/// XA, or other control of transactions, that the state of the XA transaction does not allow.
fn not_in_state(state: &str) -> Rejection {
    Rejection {
        code: 1399,
        sqlstate: "XAE07",
        refusal: None,
        message: format!(
            "XAER_RMFAIL: The command cannot be executed when global transaction is in the  {state} state"
        ),
        address: None,
    }
}

/// A mistake in BEGIN, COMMIT and their kin, where a transaction waits that no server knows of.
pub(crate) fn no_control() -> Rejection {
    Rejection {
        code: 1064,
        sqlstate: "42000",
        refusal: None,
        message: "You have an error in your SQL syntax: this is no form of BEGIN, START TRANSACTION, SAVEPOINT, COMMIT, ROLLBACK or \
                  XA START that servers read"
            .to_owned(),
        address: None,
    }
}

/// XA START … RESUME of a transaction that there is not, and JOIN, which no server can.
pub(crate) fn no_xa_to_resume() -> Rejection {
    Rejection {
        code: 1398,
        sqlstate: "XAE05",
        refusal: None,
        message: "XAER_INVAL: Invalid arguments (or unsupported command)".to_owned(),
        address: None,
    }
}

/// The forms in which a map accepts its key, human-readable: `/* tenant=VALUE */, or a session schema like tenant_VALUE`.
pub fn accepted_forms(key: &str, finders: &[Finder]) -> String {
    let forms: Vec<String> = finders.iter().map(|finder| accepted_form(key, finder)).collect();
    forms.join(", or ")
}

fn accepted_form(key: &str, finder: &Finder) -> String {
    match finder {
        Finder::Comment { word, form } => match form {
            CommentForm::Pairs => format!("/* {word}=VALUE */"),
            CommentForm::Sqlcommenter => format!("/*{word}='VALUE'*/"),
            CommentForm::Exact(template) => format!("/* {} */", placeholder(template)),
        },
        Finder::Schema { template } => format!("a session schema like {}", placeholder(template)),
        Finder::Table { template } => format!("a table like {}", placeholder(template)),
        Finder::User { template } => format!("a user like {}", placeholder(template)),
        Finder::Column { column, .. } => {
            if column.eq_ignore_ascii_case(key) {
                format!("WHERE {column} = VALUE")
            } else {
                format!("WHERE {column} = VALUE ({key})")
            }
        }
    }
}

fn placeholder(template: &KeyTemplate) -> String {
    let value = match template.width {
        Some(width) => "N".repeat(usize::from(width)),
        None => "VALUE".to_owned(),
    };
    format!("{}{value}{}", template.prefix, template.suffix)
}

/// `missing key` of a map, human-readable, also for engines that can only send a fixed text.
pub fn missing_key(map: &str, key: &str, finders: &[Finder]) -> String {
    Refusal::MissingKey.message(&format!(
        "no shard key: shard map {map} needs {key}; write {}",
        accepted_forms(key, finders)
    ))
}

/// BEGIN without a key.
pub fn begin_without_key(map: &str, key: &str, finders: &[Finder]) -> String {
    Refusal::BeginWithoutKey.message(&format!(
        "BEGIN has no shard key: shard map {map} needs {key}; write {}",
        accepted_forms(key, finders)
    ))
}

/// A key that no shard holds; `value` is `None` where the engine can only send a fixed text.
pub fn unknown_key(map: &str, key: &str, value: Option<&str>, shards: &[&str]) -> String {
    let listed = match shards {
        [] => String::new(),
        few if few.len() <= 8 => format!("; shards: {}", few.join(", ")),
        many => format!("; {} shards, {} to {}", many.len(), many[0], many[many.len() - 1]),
    };
    let value = value
        .map(|value| format!(" {}", shortened(value)))
        .unwrap_or_default();
    Refusal::UnknownKey.message(&format!(
        "unknown shard key: shard map {map} has no {key}{value}{listed}"
    ))
}

/// Several keys; `values` is empty where the engine can only send a fixed text.
pub fn conflicting_keys(map: &str, key: &str, values: &[&str]) -> String {
    let values: Vec<String> = values.iter().map(|value| shortened(value)).collect();
    let named = if values.is_empty() {
        String::new()
    } else {
        format!(": {}", values.join(", "))
    };
    Refusal::ConflictingKeys.message(&format!(
        "more than one shard key: shard map {map} takes one {key} a statement{named}"
    ))
}

/// A table of a column map that its server says is a view, or something else that is no base table.
pub fn not_a_base_table(map: &str, schema: &str, table: &str) -> String {
    let table = shortened(table);
    Refusal::NotABaseTable.message(&format!(
        "{schema}.{table} is not a base table, so what its columns hold is not known: name the tables that it stands on, \
         or state it as shard_maps.{map}.tables.views.{table}"
    ))
}

/// A key column that compares or stores a value otherwise than its map.
pub fn key_column(table: &AssumedTable, column: &str, is_a: &str, why: &KeyDoubt) -> String {
    let AssumedTable {
        schema, table, map, ..
    } = table;
    Refusal::KeyColumn.message(&format!(
        "shard map {map}: column {column} of {schema}.{} is {is_a}: {}; {}",
        shortened(table),
        shortened(&why.what),
        why.form
    ))
}

/// A change of a table that a foreign key passes on to a key column.
pub fn passed_on(table: &AssumedTable, passed_on: &PassedOn) -> String {
    let AssumedTable {
        schema, table, map, ..
    } = table;
    let table = shortened(table);
    let (change, rule) = match &passed_on.column {
        Some(column) => (
            format!("a change of column {} of {schema}.{table}", shortened(column)),
            "ON UPDATE",
        ),
        None => (format!("a DELETE of rows of {schema}.{table}"), "ON DELETE"),
    };
    let reaches = &passed_on.reaches;
    Refusal::KeyColumn.message(&format!(
        "shard map {map}: {change} also changes the key column {} of {schema}.{} through foreign keys, and its rows would \
         stay on the shard of their old key; give the foreign key {rule} RESTRICT and change the rows of both tables yourself",
        shortened(&reaches.column),
        shortened(&reaches.table)
    ))
}

/// A table of a column map that does not have its column.
pub fn lacks_key_column(table: &AssumedTable, column: &str) -> String {
    let AssumedTable {
        schema, table, map, ..
    } = table;
    Refusal::KeyColumn.message(&format!(
        "shard map {map}: {schema}.{} has no column {column}, so the statement does not say whose rows it is about; name \
         tables that have it, or give the key in a comment",
        shortened(table)
    ))
}

/// Tables of one statement of which one has numbers in its key column, and another has texts.
pub fn mixed_key_columns(map: &str) -> String {
    Refusal::KeyColumn.message(&format!(
        "shard map {map}: the key column compares otherwise in one table of the statement than in another (numbers and texts, or \
         two collations), so a key can be equal to several; give both the same type and collation, or ask them one by one"
    ))
}

/// A literal of a column that a server can call equal to another key, human-readable.
pub(crate) fn ambiguous_key(map: &str, key: &str, text: &str, form: &str) -> String {
    format!(
        "shard map {map}: to a server, {} can be equal to another {key}; write {form}",
        shortened(text)
    )
}

/// A key whose bytes are another text in the session's character set, human-readable.
pub(crate) fn key_of_other_encoding(map: &str, key: &str, text: &str) -> String {
    let or_ascii = if text.is_ascii() {
        // character_set_connection has other bytes for ASCII, too.
        String::new()
    } else {
        format!(", or a {key} in ASCII")
    };
    format!(
        "shard map {map}: the session's character set is not utf8mb4, so the bytes of {} can be another {key} to the server; \
         use SET NAMES utf8mb4{or_ascii}",
        shortened(text)
    )
}

/// A connection whose character sets are not those that the session has set.
pub fn connection_of_other_encoding(map: &str) -> String {
    Refusal::KeyColumn.message(&format!(
        "shard map {map}: the server reads this session's statements in another character set than utf8mb4, so a key beyond \
         ASCII can be another one to it; use SET NAMES utf8mb4"
    ))
}

/// Client-supplied text is repeated in errors only up to this many characters.
fn shortened(value: &str) -> String {
    const LIMIT: usize = 64;
    if value.chars().count() <= LIMIT {
        return value.to_owned();
    }
    let head: String = value.chars().take(LIMIT).collect();
    format!("{head}…")
}
