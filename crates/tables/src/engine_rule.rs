//! A row of `mysql_query_rules`, column for column.

pub(crate) mod columns;

use serde::{Deserialize, Serialize};
use shardwright_vocabulary::Words;

use columns::{RULE_COLUMNS, RuleColumn, rule_column};

const USERNAME: &RuleColumn = rule_column("username");

/// The columns of an active row of `mysql_query_rules` besides `rule_id`, `active` and `flagIN`. An empty `username`
/// or `schemaname` is `None`: both mean that there is no condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineRule {
    /// Exact name of the frontend user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// Exact name of the session's schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schemaname: Option<String>,
    /// Exact client address, or a prefix that ends in `%`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_addr: Option<String>,
    /// Address of the listener as configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_addr: Option<String>,
    /// Port of the listener.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_port: Option<u16>,
    /// Hash of the statement's digest text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<u64>,
    /// Pattern searched in the digest text of the original statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_digest: Option<String>,
    /// Pattern searched in the statement, as rewritten so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_pattern: Option<String>,
    /// Inverts each of the two patterns separately.
    #[serde(skip_serializing_if = "is_default")]
    pub negate_match_pattern: bool,
    /// `re_modifiers`.
    pub re_modifiers: Modifiers,
    /// The chain to go on in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag_out: Option<u32>,
    /// Weighted alternatives to `flag_out` (column `attributes`); without effect when `flag_out` is set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flag_outs: Vec<FlagOutChoice>,
    /// Replaces what `match_pattern` matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replace_pattern: Option<String>,
    /// Where the statement goes, unless a later rule says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_hostgroup: Option<u32>,
    /// Result cache, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_ttl_ms: Option<u32>,
    /// Whether an empty result is cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_empty_result: Option<bool>,
    /// Stored by ProxySQL 2.7 and not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_timeout_ms: Option<u32>,
    /// Stored by ProxySQL 2.7 and not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconnect: Option<bool>,
    /// Stored by ProxySQL 2.7 and not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky_conn: Option<bool>,
    /// Execution time after which the statement is killed, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u32>,
    /// Retries after a lost connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Pause before the statement is sent, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u32>,
    /// The flag that the session's next statements start at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_query_flag_in: Option<u32>,
    /// Chain that the mirrored statement starts at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror_flag_out: Option<u32>,
    /// Hostgroup of the mirrored statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror_hostgroup: Option<u32>,
    /// Refuses the statement with this text, error 1148.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_msg: Option<String>,
    /// Answers the statement with OK and this text; wins over `error_msg`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok_msg: Option<String>,
    /// 0: the connection is not multiplexed; 1: it is; 2: variables in this statement do not stop it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplex: Option<u8>,
    /// Wait for the last GTID that the session saw on this hostgroup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gtid_from_hostgroup: Option<u32>,
    /// Whether the statement is written to the event log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<bool>,
    /// Ends the evaluation.
    #[serde(skip_serializing_if = "is_default")]
    pub apply: bool,
    /// Free text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl EngineRule {
    /// Whether copies of its statements are sent: to a hostgroup, or to rules that choose one.
    #[must_use]
    pub fn mirrors(&self) -> bool {
        self.mirror_hostgroup.is_some() || self.mirror_flag_out.is_some()
    }

    /// What the row does to statements that it takes: the row without its conditions and its comment. The pattern of a rewrite
    /// and its modifiers say what is replaced, so they stay.
    #[must_use]
    pub fn effect(&self) -> Self {
        let rewrites = self.replace_pattern.is_some();
        Self {
            username: None,
            schemaname: None,
            client_addr: None,
            proxy_addr: None,
            proxy_port: None,
            digest: None,
            match_digest: None,
            match_pattern: rewrites.then(|| self.match_pattern.clone()).flatten(),
            negate_match_pattern: false,
            re_modifiers: if rewrites {
                self.re_modifiers
            } else {
                Modifiers::default()
            },
            comment: None,
            ..self.clone()
        }
    }

    /// Whether every statement of every session matches it: no column asks for anything. An empty text asks for nothing,
    /// an empty pattern matches everything unless it is negated, and is a condition here.
    pub fn is_unconditional(&self) -> bool {
        self.username.as_deref().is_none_or(str::is_empty) && self.asks_for_user_only()
    }

    /// Whether every statement of the user's sessions matches it.
    pub fn is_unconditional_for(&self, user: &str) -> bool {
        let asked = self.username.as_deref().unwrap_or_default();
        (asked.is_empty() || asked == user) && self.asks_for_user_only()
    }

    fn asks_for_user_only(&self) -> bool {
        let others = RULE_COLUMNS
            .iter()
            .filter(|column| column.name() != USERNAME.name());
        !others.into_iter().any(|column| column.is_condition_of(self))
    }

    /// The weighted alternatives that can be drawn: none where `flag_out` is set, and never one of weight 0.
    pub fn draws(&self) -> impl Iterator<Item = &FlagOutChoice> {
        self.flag_outs
            .iter()
            .filter(|choice| self.flag_out.is_none() && choice.weight > 0)
    }

    /// The flags that a match can leave the statement at, where it changes the flag. With `apply` the evaluation ends
    /// there, and fast routing and the firewall go by it.
    pub fn flags_set(&self) -> impl Iterator<Item = u32> {
        self.flag_out
            .into_iter()
            .chain(self.draws().map(|choice| choice.id))
    }

    /// The flags that the evaluation can go on in behind a match; none where the match ends it or stays in the chain.
    pub fn jumps(&self) -> impl Iterator<Item = u32> {
        self.flags_set().filter(|_| !self.apply)
    }

    /// Whether a match ends the evaluation or jumps. A jump to the rule's own flag without restarts goes on behind it.
    pub fn ends(&self) -> bool {
        self.apply || self.flags_set().next().is_some()
    }

    /// Whether every statement matches it, and all that it does is to end the evaluation.
    pub fn only_ends(&self) -> bool {
        self.apply
            && *self
                == Self {
                    apply: true,
                    comment: self.comment.clone(),
                    ..Self::default()
                }
    }
}

/// `re_modifiers` of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modifiers {
    /// Case does not count.
    pub caseless: bool,
    /// `replace_pattern` replaces every match.
    pub global: bool,
}

/// As ProxySQL writes them itself.
impl Words for Modifiers {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("CASELESS", Self::of(true, false)),
        ("GLOBAL", Self::of(false, true)),
        ("CASELESS,GLOBAL", Self::of(true, true)),
        ("", Self::of(false, false)),
    ];
}

impl Modifiers {
    const fn of(caseless: bool, global: bool) -> Self {
        Self { caseless, global }
    }

    /// What ProxySQL reads in the column: words between commas in any order, by how they begin and in any letter case. It
    /// ignores the others; a blank in front makes a word another one. Live it prints [`Words::word`] for what it has read.
    pub fn read(text: &str) -> Self {
        text.split(',')
            .filter_map(Self::read_word)
            .fold(Self::of(false, false), |both, word| {
                Self::of(both.caseless || word.caseless, both.global || word.global)
            })
    }

    /// The words of the column that ProxySQL ignores.
    pub fn ignored(text: &str) -> impl Iterator<Item = &str> {
        text.split(',')
            .filter(|word| !word.is_empty() && Self::read_word(word).is_none())
    }

    fn read_word(word: &str) -> Option<Self> {
        let begins = |known: &str| {
            let start = word.get(..known.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(known))
        };
        match (begins("CASELESS"), begins("GLOBAL")) {
            (false, false) => None,
            (caseless, global) => Some(Self::of(caseless, global)),
        }
    }
}

impl Default for Modifiers {
    /// `CASELESS`, the column's default.
    fn default() -> Self {
        Self::of(true, false)
    }
}

/// An entry of `attributes.flagOUTs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlagOutChoice {
    /// The chain.
    pub id: u32,
    /// Its share.
    pub weight: u32,
}

/// ProxySQL drops a rule with a longer client address when it loads it.
const MAX_CLIENT_ADDR: usize = 45;

/// Whether a text is a network as `10.0.12.0/23`, or a name of a host: the engine compares such a `client_addr` with addresses as
/// text, and it never matches.
pub fn is_no_address(text: &str) -> bool {
    let is_prefix = text.ends_with('%');
    let bare = text.trim_end_matches('%');
    let is_of_addresses = bare
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':'));
    !(is_of_addresses || text == "localhost" || (is_prefix && bare.is_empty()))
}

/// Whether the engine loads a rule with this `client_addr`: an address, or a prefix that ends in `%`, of at most 45 bytes.
/// It drops any other rule.
pub fn is_client_addr(text: &str) -> bool {
    text.len() <= MAX_CLIENT_ADDR && text.find('%').is_none_or(|at| at + 1 == text.len())
}

/// A digest's hash as the engine's tables hold it.
pub fn digest_text(digest: u64) -> String {
    format!("0x{digest:016X}")
}

/// A digest as the engine reads it (C's `strtoull`): `0x` is hexadecimal, a leading 0 octal; and whether it read all of it.
pub fn read_digest(text: &str) -> (u64, bool) {
    let text = text.trim_start();
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    let end = digits
        .find(|letter: char| !letter.is_digit(radix))
        .unwrap_or(digits.len());
    let number = match digits.get(..end) {
        Some("") | None => 0,
        Some(read) => u64::from_str_radix(read, radix).unwrap_or(u64::MAX),
    };
    // What does not fit is the largest number, and a sign in front of it changes nothing.
    let number = match (is_negative, number) {
        (true, number) if number != u64::MAX => number.wrapping_neg(),
        _ => number,
    };
    (number, end == digits.len() && end > 0)
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_read_as_c_reads_them() {
        for (text, read) in [
            ("0x4D7DCFF87DD1A927", (0x4D7D_CFF8_7DD1_A927, true)),
            ("017", (15, true)),
            ("12", (12, true)),
            (" +5", (5, true)),
            ("-2", (u64::MAX - 1, true)),
            ("0x12zz", (0x12, false)),
            ("zz", (0, false)),
            ("0", (0, true)),
            ("99999999999999999999", (u64::MAX, true)),
            ("", (0, false)),
        ] {
            assert_eq!(read_digest(text), read, "{text}");
        }
    }
}
