//! The columns of an [`EngineRule`]: what each is for, how it is read and how it is written.

use super::{EngineRule, FlagOutChoice, Modifiers};
use crate::column::{Column, equal};
use crate::engine::QUERY_RULES;

/// A column of `mysql_query_rules` that an [`EngineRule`] holds.
#[derive(Clone, Copy, Debug)]
pub struct RuleColumn {
    /// The column of the table.
    pub column: &'static Column,
    /// The name of its field in an [`EngineRule`], and in the JSON of a configuration.
    pub field: &'static str,
    /// What it is for.
    pub part: Part,
    access: Access,
}

/// What a column of a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The rule matches some statements or sessions only.
    Condition,
    /// How patterns match.
    Matching,
    /// Where the evaluation goes on, or that it ends.
    Jump,
    /// What becomes of the statement's text.
    Rewrite,
    /// Where the statement goes.
    Destination,
    /// What happens to the statement besides.
    Effect,
    /// The client gets an answer and no server the statement.
    Answer,
    /// The engine stores it and does not use it.
    Unused,
    /// Free text.
    Comment,
}

/// A value of a column that is not NULL.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'r> {
    /// 0 or 1.
    Switch(bool),
    /// A number.
    Number(u32),
    /// A text.
    Text(&'r str),
    /// A hash, which the table holds as a text.
    Digest(u64),
    /// Words, which the table holds as a text.
    Modifiers(Modifiers),
    /// Weighted flags, which the table holds as JSON.
    FlagOuts(&'r [FlagOutChoice]),
}

/// Where a rule comes from: gives the value of a column, `None` for NULL.
pub trait RowSource {
    /// A text.
    fn text(&mut self, column: &RuleColumn) -> Option<String>;
    /// A number of [`Column::range`].
    fn number(&mut self, column: &RuleColumn) -> Option<u32>;
    /// 0 or 1.
    fn switch(&mut self, column: &RuleColumn) -> Option<bool>;
    /// The hash of a digest.
    fn digest(&mut self, column: &RuleColumn) -> Option<u64>;
    /// `re_modifiers`
    fn modifiers(&mut self, column: &RuleColumn) -> Option<Modifiers>;
    /// `flagOUTs` of `attributes`
    fn flag_outs(&mut self, column: &RuleColumn) -> Vec<FlagOutChoice>;
}

/// A field of a rule, to read and to write.
type Field<T> = (fn(&EngineRule) -> &T, fn(&mut EngineRule) -> &mut T);

#[derive(Clone, Copy, Debug)]
enum Access {
    Text(Field<Option<String>>),
    /// A text that asks for nothing where it is empty, and is NULL then.
    Filled(Field<Option<String>>),
    Port(Field<Option<u16>>),
    Number(Field<Option<u32>>),
    Small(Field<Option<u8>>),
    /// 0 or 1, 0 where nothing is said.
    Switch(Field<bool>),
    /// 0, 1 or NULL.
    Choice(Field<Option<bool>>),
    Digest(Field<Option<u64>>),
    Modifiers(Field<Modifiers>),
    FlagOuts(Field<Vec<FlagOutChoice>>),
}

macro_rules! columns {
    ($($name:ident $part:ident $access:ident $field:ident;)*) => {
        &[$(RuleColumn {
            column: QUERY_RULES.named(stringify!($name)),
            field: stringify!($field),
            part: Part::$part,
            access: Access::$access((|rule| &rule.$field, |rule| &mut rule.$field)),
        }),*]
    };
}

/// The columns of an [`EngineRule`], in the order of the table: all but `rule_id`, `active` and `flagIN`.
pub const RULE_COLUMNS: &[RuleColumn] = columns![
    username Condition Filled username;
    schemaname Condition Filled schemaname;
    client_addr Condition Filled client_addr;
    proxy_addr Condition Filled proxy_addr;
    proxy_port Condition Port proxy_port;
    digest Condition Digest digest;
    match_digest Condition Text match_digest;
    match_pattern Condition Text match_pattern;
    negate_match_pattern Matching Switch negate_match_pattern;
    re_modifiers Matching Modifiers re_modifiers;
    flagOUT Jump Number flag_out;
    replace_pattern Rewrite Text replace_pattern;
    destination_hostgroup Destination Number destination_hostgroup;
    cache_ttl Effect Number cache_ttl_ms;
    cache_empty_result Effect Choice cache_empty_result;
    cache_timeout Unused Number cache_timeout_ms;
    reconnect Unused Choice reconnect;
    timeout Effect Number timeout_ms;
    retries Effect Number retries;
    delay Effect Number delay_ms;
    next_query_flagIN Effect Number next_query_flag_in;
    mirror_flagOUT Effect Number mirror_flag_out;
    mirror_hostgroup Effect Number mirror_hostgroup;
    error_msg Answer Text error_msg;
    OK_msg Answer Text ok_msg;
    sticky_conn Unused Choice sticky_conn;
    multiplex Effect Small multiplex;
    gtid_from_hostgroup Effect Number gtid_from_hostgroup;
    log Effect Choice log;
    apply Jump Switch apply;
    attributes Jump FlagOuts flag_outs;
    comment Comment Text comment;
];

/// The column of this name, for a name that is written in the source: no such column does not compile in a constant.
pub const fn rule_column(name: &str) -> &'static RuleColumn {
    &RULE_COLUMNS[rule_column_place(name)]
}

/// Its place in [`RULE_COLUMNS`].
pub const fn rule_column_place(name: &str) -> usize {
    let mut at = 0;
    while at < RULE_COLUMNS.len() {
        if equal(RULE_COLUMNS[at].column.name, name) {
            return at;
        }
        at += 1;
    }
    panic!("a rule has no column of this name")
}

impl RuleColumn {
    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.column.name
    }

    /// The value of a rule; `None` where it has none: NULL, and no flags in `attributes`.
    pub fn get<'r>(&self, rule: &'r EngineRule) -> Option<Value<'r>> {
        match self.access {
            Access::Text((get, _)) | Access::Filled((get, _)) => get(rule).as_deref().map(Value::Text),
            Access::Port((get, _)) => get(rule).map(|port| Value::Number(port.into())),
            Access::Number((get, _)) => get(rule).map(Value::Number),
            Access::Small((get, _)) => get(rule).map(|number| Value::Number(number.into())),
            Access::Switch((get, _)) => Some(Value::Switch(*get(rule))),
            Access::Choice((get, _)) => get(rule).map(Value::Switch),
            Access::Digest((get, _)) => get(rule).map(Value::Digest),
            Access::Modifiers((get, _)) => Some(Value::Modifiers(*get(rule))),
            Access::FlagOuts((get, _)) => Some(get(rule).as_slice())
                .filter(|choices| !choices.is_empty())
                .map(Value::FlagOuts),
        }
    }

    /// The value, where it is another than that of a row that does not name the column.
    pub fn get_given<'r>(&self, rule: &'r EngineRule) -> Option<Value<'r>> {
        self.get(rule)
            .filter(|value| self.get(&EngineRule::default()).as_ref() != Some(value))
    }

    /// Whether the rule asks for something by this column. An empty text asks for nothing, but an empty pattern does.
    pub fn is_condition_of(&self, rule: &EngineRule) -> bool {
        self.part == Part::Condition
            && self.get(rule).is_some_and(|value| match self.access {
                Access::Filled(_) => value != Value::Text(""),
                _ => true,
            })
    }

    /// Takes the value of a rule away.
    pub fn clear(&self, rule: &mut EngineRule) {
        self.copy(&EngineRule::default(), rule);
    }

    fn read(&self, source: &mut impl RowSource, rule: &mut EngineRule) {
        match self.access {
            Access::Text((_, set)) => *set(rule) = source.text(self),
            Access::Filled((_, set)) => *set(rule) = source.text(self).filter(|text| !text.is_empty()),
            Access::Port((_, set)) => {
                *set(rule) = source.number(self).and_then(|port| u16::try_from(port).ok());
            }
            Access::Number((_, set)) => *set(rule) = source.number(self),
            Access::Small((_, set)) => {
                *set(rule) = source.number(self).and_then(|number| u8::try_from(number).ok());
            }
            Access::Switch((_, set)) => *set(rule) = source.switch(self).unwrap_or_default(),
            Access::Choice((_, set)) => *set(rule) = source.switch(self),
            Access::Digest((_, set)) => *set(rule) = source.digest(self),
            Access::Modifiers((_, set)) => *set(rule) = source.modifiers(self).unwrap_or_default(),
            Access::FlagOuts((_, set)) => *set(rule) = source.flag_outs(self),
        }
    }

    fn copy(&self, from: &EngineRule, to: &mut EngineRule) {
        match self.access {
            Access::Text((get, set)) | Access::Filled((get, set)) => set(to).clone_from(get(from)),
            Access::Port((get, set)) => *set(to) = *get(from),
            Access::Number((get, set)) => *set(to) = *get(from),
            Access::Small((get, set)) => *set(to) = *get(from),
            Access::Switch((get, set)) => *set(to) = *get(from),
            Access::Choice((get, set)) => *set(to) = *get(from),
            Access::Digest((get, set)) => *set(to) = *get(from),
            Access::Modifiers((get, set)) => *set(to) = *get(from),
            Access::FlagOuts((get, set)) => set(to).clone_from(get(from)),
        }
    }
}

impl EngineRule {
    /// The rule whose values a source gives, column by column in the order of the table.
    pub fn read(source: &mut impl RowSource) -> Self {
        let mut rule = Self::default();
        for column in RULE_COLUMNS {
            column.read(source, &mut rule);
        }
        rule
    }
}
