//! Blocks of rules in the engine's own columns.

use rustc_hash::FxHashMap;
use shardwright_diagnostics::{Diagnostic, Span, did_you_mean};
use shardwright_tables::{EngineRule, FlagOutChoice, Modifiers, RowSource, RuleColumn};

use self::anchor::{AFTER, BEFORE};
use super::object::Object;
use super::scope::is_client_address;
use super::values::Read;
use super::{Defined, instances, names, raw_rows};
use crate::codes::{BAD_VALUE, MISSING_KEY, NOT_TOGETHER, UNKNOWN_REFERENCE};
use crate::fields::column::{Column, column};
use crate::fields::{AnyField, Bit, Declared, Int, List, Text, Word, holders, object};
use crate::model::{BlockPlace, OriginId, RawRule, Role, RuleBlock};
use crate::tree::context::Context;
use crate::tree::view::{Field, View};
use crate::units;

object! {
    pub(crate) mod block = "Rules in written order.";
    AT: Or<WordOr<BlockPlace>> = word_or("at", "The position of the block; before_all by default.", &anchor::FIELDS)
        .or(BlockPlace::BeforeAll);
    BEHIND_EFFECTS: Or<Bool> = boolean(
        "behind_effects",
        "Whether what the rules take gets throttles, pooling exceptions and time limits, too; false by default.",
    )
    .page("Only beside a route. See [effects of raw rules](#effects-of-raw-rules).")
    .or(false);
    RULES: List = list(
        holders::RULES,
        "The rules in the order of evaluation.",
        "a list of rules",
        Shaped::Definition("rule"),
    );
    FAST_ROUTING: List = list(
        holders::FAST_ROUTING,
        "Rows of ProxySQL's fast routing: where sessions of a user and schema go behind the rules.",
        "a list of rows",
        Shaped::Object(&raw_rows::route::FIELDS),
    )
    .page("See [fast routing](#fast-routing).");
    REFUSING: List = list(
        holders::REFUSING,
        "Hostgroups whose server refuses every login, which rules send to what they refuse.",
        "a list of hostgroups",
        Shaped::Object(&raw_rows::refusing::FIELDS),
    )
    .page("See [hostgroups that refuse](#hostgroups-that-refuse).");
}

object! {
    mod anchor = "The object before or after which the block is placed.";
    BEFORE: Text = filled("before", "Before the rules of the object at this address.")
        .not_with("after")
        .refers(refers::RULES);
    AFTER: Text = filled("after", "After the rules of the object at this address.")
        .refers(refers::RULES);
}

object! {
    pub(crate) mod rule = "A rule. Columns that are not given have the engine's default; `active` is 1.";
    RULE_ID: Count = int("rule_id", "The number of the rule, if it must have a certain one.", 1, 2_147_483_647)
        .page("It must be greater than that of the rule before it.");
    ACTIVE: Or<Bit> = bit("active", "Whether it is loaded; 1 by default. With `0` no engine gets it, and a row of its number on a ProxySQL stays as it is.").or(true);
    USERNAME: Column = column("username", "The user that the session logged in as.")
        .page("Exact.")
        .refers(refers::USERS);
    SCHEMANAME: Column = column("schemaname", "The schema that the session is in.")
        .page("Exact.");
    FLAG_IN: Or<Count> = id("flagIN", "The flag of the chain that the rule is part of; 0 by default.").or(0);
    CLIENT_ADDR: Column = column("client_addr", "The client's address, or a prefix that ends with `%`.")
        .examples(r#"["10.0.%"]"#);
    PROXY_ADDR: Column = column("proxy_addr", "The address that the client connected to.");
    PROXY_PORT: Column = column("proxy_port", "The port that the client connected to.");
    DIGEST: Column = column("digest", "The digest hash, such as \"0x4D7DCFF87DD1A927\".");
    MATCH_DIGEST: Column = column("match_digest", "A regular expression over the digest text.").examples(r#"["^DROP "]"#);
    MATCH_PATTERN: Column = column("match_pattern", "A regular expression over the statement.");
    NEGATE_MATCH_PATTERN: Or<Bit> = bit("negate_match_pattern", "Whether both expressions are negated: neither may match.")
        .or(false);
    RE_MODIFIERS: Or<Word<Modifiers>> = word(
        "re_modifiers",
        "How the expressions match; CASELESS by default.",
    )
    .or(Modifiers { caseless: true, global: false });
    FLAG_OUT: Column = column("flagOUT", "The flag of the chain in which evaluation continues.");
    REPLACE_PATTERN: Column = column("replace_pattern", "What replaces the match of `match_pattern`.");
    DESTINATION_HOSTGROUP: Column = column(
        "destination_hostgroup",
        "A hostgroup by number; `cluster` and `role` name one.",
    );
    CLUSTER: Text = text("cluster", "The name of the cluster that it goes to.")
        .not_with("destination_hostgroup")
        .page("It replaces `destination_hostgroup`.")
        .refers(refers::CLUSTERS);
    ROLE: Or<Word<Role>> = word("role", "Which of the cluster's hostgroups; writer by default.")
        .or_when(Role::Writer, When::Has(&CLUSTER));
    CACHE_TTL: Column = column(
        "cache_ttl",
        "How long the result stays in the query cache, in milliseconds.",
    );
    CACHE_EMPTY_RESULT: Column = column("cache_empty_result", "Whether empty results are cached.");
    CACHE_TIMEOUT: Column = column("cache_timeout", "A column that the engine stores and does not use.")
        .page("A note says so.");
    RECONNECT: Column = column("reconnect", "A column that the engine stores and does not use.")
        .page("A note says so.");
    TIMEOUT: Column = column("timeout", "Time after which the statement is killed, in milliseconds.");
    RETRIES: Column = column("retries", "How often it is tried again.");
    DELAY: Column = column("delay", "Time that the statement waits before it is sent, in milliseconds.");
    NEXT_QUERY_FLAG_IN: Column = column(
        "next_query_flagIN",
        "The flag at which the session's later statements start.",
    );
    MIRROR_FLAG_OUT: Column = column("mirror_flagOUT", "The flag at which the mirrored statement starts.");
    MIRROR_HOSTGROUP: Column = column("mirror_hostgroup", "The hostgroup that the mirrored statement goes to.");
    ERROR_MSG: Column = column("error_msg", "Refuses the statement with this text.")
        .examples(r#"["DROP goes through change management"]"#);
    OK_MSG: Column = column("OK_msg", "Answers the statement with OK and this text.");
    STICKY_CONN: Column = column("sticky_conn", "A column that the engine stores and does not use.")
        .page("A note says so.");
    MULTIPLEX: Column = column("multiplex", "0: off, 1: on, 2: this statement does not switch it off.")
        .page("See [pooling](pooling.md).");
    GTID_FROM_HOSTGROUP: Column = column(
        "gtid_from_hostgroup",
        "The server must have the session's last GTID from this hostgroup.",
    );
    LOG: Column = column("log", "Whether it is written to the event log.");
    APPLY: Or<Bit> = bit("apply", "Whether evaluation ends here; 0 by default.").or(false);
    ATTRIBUTES: Column = column("attributes", "JSON: `{\"flagOUTs\": [{\"id\": 1, \"weight\": 9}]}` draws a flag by weight.");
    COMMENT: Column = column("comment", "Free text, which the engine stores with the rule.");
}

/// Addresses that are compared for a "did you mean".
const MAX_COMPARED: usize = 2_000;

/// A block that stands beside an object whose address is not looked up yet.
struct Anchored {
    block: OriginId,
    side: fn(OriginId) -> BlockPlace,
    address: String,
    span: Span,
}

pub(super) fn blocks(
    section: Option<Field<'_>>,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Vec<RuleBlock> {
    let mut anchored = Vec::new();
    let read = instances::read_section(section, context, |object, context| {
        anchored.extend(anchor_of(object, context));
        block(object, defined, context)
    });
    let mut blocks: Vec<RuleBlock> = read.into_iter().filter_map(|(_, block)| block).collect();
    move_beside(&mut blocks, &anchored, context);
    blocks
}

/// Looks the addresses up, last, so that a block may stand beside one that is written after it.
fn move_beside(blocks: &mut [RuleBlock], anchored: &[Anchored], context: &mut Context<'_>) {
    if anchored.is_empty() {
        return;
    }
    let mut wanted: FxHashMap<&str, Option<OriginId>> =
        anchored.iter().map(|one| (one.address.as_str(), None)).collect();
    for id in context.origins.iter() {
        if let Some(found) = wanted.get_mut(context.origins.address(id).as_str()) {
            *found = Some(id);
        }
    }
    let by_origin: FxHashMap<OriginId, usize> = blocks
        .iter()
        .enumerate()
        .map(|(position, block)| (block.origin, position))
        .collect();
    for one in anchored {
        match wanted.get(one.address.as_str()) {
            Some(Some(target)) => {
                if let Some(position) = by_origin.get(&one.block) {
                    blocks[*position].at = (one.side)(*target);
                }
            }
            _ => report_unknown(&one.address, one.span, context),
        }
    }
}

fn anchor_of(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Anchored> {
    let at = object.inside(&block::AT)?;
    if at.has(&BEFORE) && at.has(&AFTER) {
        let message = "`at` cannot have both `before` and `after`";
        at.error(NOT_TOGETHER, message, at.key_span(&AFTER), context);
        return None;
    }
    if !at.has(&BEFORE) && !at.has(&AFTER) {
        let message = "`at` needs `before` or `after`";
        let help = "write {before: ADDRESS} or {after: ADDRESS}, or remove `at` for before_all";
        let diagnostic = Diagnostic::error(MISSING_KEY, message).at(at.key, "").help(help);
        at.push(diagnostic, context);
        return None;
    }
    let (written, side): (_, fn(OriginId) -> BlockPlace) = match at.has(&BEFORE) {
        true => (&BEFORE, BlockPlace::Before),
        false => (&AFTER, BlockPlace::After),
    };
    let address = at.get(written, context)?;
    // `tenants/t137` is the short form of `shard_maps.tenants.shards.t137`.
    let address = match address.split_once('/') {
        Some((map, shard)) => format!("shard_maps.{map}.shards.{shard}"),
        None => address.to_string(),
    };
    let sections_with_rules = [
        "shard_maps.",
        "read_write_policies.",
        "routes.",
        "throttles.",
        "query_rules.",
    ];
    let span = at.span(written);
    if !sections_with_rules
        .iter()
        .any(|section| address.starts_with(section))
    {
        let message = format!("`{address}` has no rules");
        let help =
            "name a shard map, a policy, a route, a throttle or another block, such as shard_maps.tenants";
        at.push(
            Diagnostic::error(BAD_VALUE, message).at(span, "").help(help),
            context,
        );
        return None;
    }
    Some(Anchored {
        block: object.origin,
        side,
        address,
        span,
    })
}

fn report_unknown(address: &str, span: Span, context: &mut Context<'_>) {
    let message = format!("no object has the address `{address}`");
    let diagnostic = Diagnostic::error(UNKNOWN_REFERENCE, message).at(span, "");
    let candidates: Vec<String> = if context.take_comparisons(MAX_COMPARED) {
        context
            .origins
            .iter()
            .take(MAX_COMPARED)
            .map(|id| context.origins.address(id))
            .collect()
    } else {
        Vec::new()
    };
    let near = did_you_mean(address, candidates.iter().map(String::as_str));
    context.report.push(diagnostic.did_you_mean(near));
}

fn block(object: &Object<'_, '_>, defined: &Defined, context: &mut Context<'_>) -> Option<RuleBlock> {
    object.require_all(&block::FIELDS, context);
    let at = object.get(&block::AT, context);
    let rules = each_row(object, &block::RULES, context, |row, context| {
        Some(rule(row, defined, context))
    });
    let fast_routing = each_row(object, &block::FAST_ROUTING, context, |row, context| {
        raw_rows::route(row, defined, context)
    });
    Some(RuleBlock {
        name: object.name.clone(),
        origin: object.origin,
        at,
        behind_effects: object.get(&block::BEHIND_EFFECTS, context),
        rules,
        fast_routing,
        refusing: each_row(object, &block::REFUSING, context, raw_rows::refusing),
    })
}

/// Reads the items of a list, each an object with an origin of its own.
fn each_row<T>(
    object: &Object<'_, '_>,
    list: &Declared<List>,
    context: &mut Context<'_>,
    mut read: impl FnMut(&Object<'_, '_>, &mut Context<'_>) -> Option<T>,
) -> Vec<T> {
    let Some(field) = object.field(list) else {
        return Vec::new();
    };
    let parent = instances::part_origin(object, &field, context);
    let mut rows = Vec::new();
    for (item, index) in object.items(list, context).iter().zip(0u32..) {
        if item.as_mapping().is_none() {
            continue;
        }
        let definition = instances::define_item(item, context);
        let row = Object {
            view: View::of(item),
            key: item.span,
            name: object.name.clone(),
            origin: context.origins.add_item(parent, index, definition),
            environment: object.environment,
        };
        rows.extend(read(&row, context));
    }
    rows
}

fn rule(object: &Object<'_, '_>, defined: &Defined, context: &mut Context<'_>) -> RawRule {
    let rule = RawRule {
        origin: object.origin,
        rule_id: object.get(&rule::RULE_ID, context),
        active: object.get(&rule::ACTIVE, context),
        flag_in: object.get(&rule::FLAG_IN, context),
        cluster: names::cluster(object, &rule::CLUSTER, defined, context),
        role: object.get(&rule::ROLE, context),
        columns: EngineRule::read(&mut Written { object, context }),
    };
    check(object, context);
    rule
}

/// The columns as they are written.
struct Written<'w, 'o, 's, 'c> {
    object: &'w Object<'o, 's>,
    context: &'w mut Context<'c>,
}

impl Written<'_, '_, '_, '_> {
    fn read<K: Read>(&mut self, column: &RuleColumn, kind: &K) -> Option<(Span, K::Value)> {
        let field = self.object.view.get(column.name())?;
        let value = kind.read(&field, self.object, self.context)?;
        Some((field.value.span(), value))
    }

    fn wrong(&mut self, message: impl Into<String>, span: Span) {
        self.object.error(BAD_VALUE, message, span, self.context);
    }
}

impl RowSource for Written<'_, '_, '_, '_> {
    fn text(&mut self, column: &RuleColumn) -> Option<String> {
        let (span, text) = self.read(column, &Text::ANY)?;
        if column.name() == rule::CLIENT_ADDR.name() && !is_client_address(&text) {
            self.wrong(
                format!("expected an address, or a prefix that ends with `%`, found `{text}`"),
                span,
            );
        }
        Some(text.to_string())
    }

    fn number(&mut self, column: &RuleColumn) -> Option<u32> {
        let range = column.column.range()?;
        let number = self.read(column, &Int::between(*range.start(), *range.end()));
        number.map(|(_, number)| number)
    }

    fn switch(&mut self, column: &RuleColumn) -> Option<bool> {
        self.read(column, &Bit).map(|(_, switch)| switch)
    }

    fn digest(&mut self, column: &RuleColumn) -> Option<u64> {
        let (span, text) = self.read(column, &Text::ANY)?;
        let digest = units::digest(&text);
        if digest.is_none() {
            self.wrong(
                format!("expected a digest such as 0x4D7DCFF87DD1A927, found `{text}`"),
                span,
            );
        }
        digest
    }

    fn modifiers(&mut self, column: &RuleColumn) -> Option<Modifiers> {
        self.read(column, &Word::ANY).map(|(_, modifiers)| modifiers)
    }

    /// The flags that `attributes` draws from: `{"flagOUTs": [{"id": 1, "weight": 9}]}`.
    fn flag_outs(&mut self, column: &RuleColumn) -> Vec<FlagOutChoice> {
        let written = self.read(column, &Text::ANY);
        let Some((span, text)) = written.filter(|(_, text)| !text.is_empty()) else {
            return Vec::new();
        };
        let choices = parse_flag_outs(&text);
        if choices.is_none() {
            self.wrong(
                "expected JSON such as {\"flagOUTs\": [{\"id\": 1, \"weight\": 9}]}",
                span,
            );
        }
        choices.unwrap_or_default()
    }
}

fn check(object: &Object<'_, '_>, context: &mut Context<'_>) {
    raw_rows::one_destination(
        object,
        [&rule::CLUSTER, &rule::ROLE, &rule::DESTINATION_HOSTGROUP],
        context,
    );
    if object.has(&rule::REPLACE_PATTERN) && !object.has(&rule::MATCH_PATTERN) {
        let message = "`replace_pattern` needs `match_pattern`: it replaces what that matches";
        object.error(
            NOT_TOGETHER,
            message,
            object.key_span(&rule::REPLACE_PATTERN),
            context,
        );
    }
}

fn parse_flag_outs(text: &str) -> Option<Vec<FlagOutChoice>> {
    let json: serde_json::Value = serde_json::from_str(text).ok()?;
    let attributes = json.as_object()?;
    let Some(choices) = attributes.get("flagOUTs") else {
        return Some(Vec::new());
    };
    let number = |choice: &serde_json::Value, key: &str| u32::try_from(choice.get(key)?.as_u64()?).ok();
    let choice = |choice: &serde_json::Value| {
        Some(FlagOutChoice {
            id: number(choice, "id")?,
            weight: number(choice, "weight")?,
        })
    };
    choices.as_array()?.iter().map(choice).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use shardwright_tables::QUERY_RULES;

    use super::rule;

    #[test]
    fn a_rule_has_the_columns_of_the_table_with_their_ranges() {
        let schema = rule::FIELDS.schema();
        let fields = schema["properties"].as_object().unwrap();
        let columns = QUERY_RULES.columns.iter().map(|column| column.name);
        let names: BTreeSet<&str> = columns.chain(["cluster", "role"]).collect();
        assert_eq!(fields.keys().map(String::as_str).collect::<BTreeSet<_>>(), names);
        for column in QUERY_RULES.columns {
            let field = &fields[column.name];
            let bounds = match field.get("enum") {
                Some(words) if column.is_number() => Some(words[0].as_i64().zip(words[1].as_i64()).unwrap()),
                _ => field["minimum"].as_i64().zip(field["maximum"].as_i64()),
            };
            // An id that is pinned begins at 1.
            let least = |range: &std::ops::RangeInclusive<i64>| match column.name {
                "rule_id" => 1,
                _ => *range.start(),
            };
            let range = column.range().map(|range| (least(&range), *range.end()));
            assert_eq!(bounds, range, "{}", column.name);
        }
    }
}
