//! Blocks of rules in the engine's own columns.

use rustc_hash::FxHashMap;
use shardwright_diagnostics::{Diagnostic, Span, did_you_mean};
use shardwright_tables::{EngineRule, FlagOutChoice, Modifiers, RowSource, RuleColumn};

use super::object::Object;
use super::scope::is_client_address;
use super::{Known, instances, names};
use crate::codes::{BAD_VALUE, MISSING_KEY, NOT_TOGETHER, UNKNOWN_REFERENCE};
use crate::context::Context;
use crate::model::{BlockPlace, OriginId, RawRule, Role, RuleBlock};
use crate::units;
use crate::view::{Field, View};

/// Addresses that are compared for a "did you mean".
const MAX_COMPARED: usize = 2_000;

/// A block that stands beside an object whose address is not looked up yet.
struct Unplaced {
    block: OriginId,
    side: fn(OriginId) -> BlockPlace,
    address: String,
    span: Span,
}

pub(super) fn blocks(section: Option<Field<'_>>, known: &Known, context: &mut Context<'_>) -> Vec<RuleBlock> {
    let mut unplaced = Vec::new();
    let read = instances::read_section(section, context, |object, context| {
        unplaced.extend(unplaced_at(object, context));
        block(object, known, context)
    });
    let mut blocks: Vec<RuleBlock> = read.into_iter().filter_map(|(_, block)| block).collect();
    place(&mut blocks, &unplaced, context);
    blocks
}

/// Looks the addresses up, last, so that a block may stand beside one that is written after it.
fn place(blocks: &mut [RuleBlock], unplaced: &[Unplaced], context: &mut Context<'_>) {
    if unplaced.is_empty() {
        return;
    }
    let mut wanted: FxHashMap<&str, Option<OriginId>> =
        unplaced.iter().map(|one| (one.address.as_str(), None)).collect();
    for id in context.origins.iter() {
        if let Some(found) = wanted.get_mut(context.origins.address(id).as_str()) {
            *found = Some(id);
        }
    }
    let by_origin: FxHashMap<OriginId, usize> = blocks
        .iter()
        .enumerate()
        .map(|(place, block)| (block.origin, place))
        .collect();
    for one in unplaced {
        match wanted.get(one.address.as_str()) {
            Some(Some(target)) => {
                if let Some(place) = by_origin.get(&one.block) {
                    blocks[*place].at = (one.side)(*target);
                }
            }
            _ => report_unknown(&one.address, one.span, context),
        }
    }
}

fn unplaced_at(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Unplaced> {
    let field = object.view.get("at").filter(|field| field.value.is_map())?;
    let at = object.inner(field.value, field.key.span);
    if at.has("before") && at.has("after") {
        let message = "a block stands before or after one object";
        at.error(NOT_TOGETHER, message, at.key_span("after"), context);
        return None;
    }
    if !at.has("before") && !at.has("after") {
        let message = "a block stands before or after an object";
        let help = "write {before: ADDRESS} or {after: ADDRESS}, or leave `at` out: before_all";
        let diagnostic = Diagnostic::error(MISSING_KEY, message)
            .at(field.key.span, "")
            .help(help);
        at.push(diagnostic, context);
        return None;
    }
    let side = if at.has("before") { "before" } else { "after" };
    let address = at.filled_text(side, context)?;
    // `tenants/t137` is the short form of `shard_maps.tenants.shards.t137`.
    let address = match address.split_once('/') {
        Some((map, shard)) => format!("shard_maps.{map}.shards.{shard}"),
        None => address.to_string(),
    };
    let placed = [
        "shard_maps.",
        "read_write_policies.",
        "throttles.",
        "query_rules.",
    ];
    let span = at.span(side);
    if !placed.iter().any(|section| address.starts_with(section)) {
        let message = format!("no rules are made for `{address}`");
        let help = "name a shard map, a policy, a throttle or another block, such as shard_maps.tenants";
        at.push(
            Diagnostic::error(BAD_VALUE, message).at(span, "").help(help),
            context,
        );
        return None;
    }
    let side = if side == "before" {
        BlockPlace::Before
    } else {
        BlockPlace::After
    };
    Some(Unplaced {
        block: object.origin,
        side,
        address,
        span,
    })
}

fn report_unknown(address: &str, span: Span, context: &mut Context<'_>) {
    let message = format!("nothing has the address `{address}`");
    let diagnostic = Diagnostic::error(UNKNOWN_REFERENCE, message).at(span, "");
    let known: Vec<String> = if context.take_comparisons(MAX_COMPARED) {
        context
            .origins
            .iter()
            .take(MAX_COMPARED)
            .map(|id| context.origins.address(id))
            .collect()
    } else {
        Vec::new()
    };
    let near = did_you_mean(address, known.iter().map(String::as_str));
    context.report.push(diagnostic.did_you_mean(near));
}

fn block(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> Option<RuleBlock> {
    object.require("rules", context);
    let word = object.view.get("at").is_some_and(|field| !field.value.is_map());
    let at = if word {
        let words = [
            ("before_all", BlockPlace::BeforeAll),
            ("after_all", BlockPlace::AfterAll),
        ];
        object.word("at", &words, context)
    } else {
        None
    };
    let mut rules = Vec::new();
    if let Some(field) = object.view.get("rules") {
        let parent = instances::part_origin(object, &field, context);
        for (item, index) in object.items("rules", context).iter().zip(0u32..) {
            if item.as_mapping().is_none() {
                continue;
            }
            let definition = instances::define_item(item, context);
            let origin = context.origins.add_item(parent, index, definition);
            let view = View::of(item);
            let name = object.name.clone();
            let rule = Object {
                view,
                key: item.span,
                name,
                origin,
                environment: object.environment,
            };
            rules.push(self::rule(&rule, known, context));
        }
    }
    Some(RuleBlock {
        name: object.name.clone(),
        origin: object.origin,
        at: at.unwrap_or(BlockPlace::BeforeAll),
        rules,
    })
}

fn rule(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> RawRule {
    let rule = RawRule {
        origin: object.origin,
        rule_id: object
            .integer("rule_id", 1..=i64::from(i32::MAX), context)
            .and_then(|id| u32::try_from(id).ok()),
        active: object.bit("active", context).unwrap_or(true),
        flag_in: object.id("flagIN", context).unwrap_or(0),
        cluster: names::cluster(object, "cluster", known, context),
        role: object
            .word(
                "role",
                &[("writer", Role::Writer), ("reader", Role::Reader)],
                context,
            )
            .unwrap_or_default(),
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

impl RowSource for Written<'_, '_, '_, '_> {
    fn text(&mut self, column: &RuleColumn) -> Option<String> {
        let text = self.object.text(column.name(), self.context)?;
        if column.name() == "client_addr" && !is_client_address(&text) {
            let message = format!("expected an address, or a prefix that ends with `%`, found `{text}`");
            self.object
                .error(BAD_VALUE, message, self.object.span(column.name()), self.context);
        }
        Some(text.to_string())
    }

    fn number(&mut self, column: &RuleColumn) -> Option<u32> {
        let range = column.column.range()?;
        let number = self.object.integer(column.name(), range, self.context)?;
        u32::try_from(number).ok()
    }

    fn switch(&mut self, column: &RuleColumn) -> Option<bool> {
        self.object.bit(column.name(), self.context)
    }

    fn digest(&mut self, column: &RuleColumn) -> Option<u64> {
        digest(self.object, column.name(), self.context)
    }

    fn modifiers(&mut self, column: &RuleColumn) -> Option<Modifiers> {
        self.object.word(column.name(), &Modifiers::ALL, self.context)
    }

    fn flag_outs(&mut self, column: &RuleColumn) -> Vec<FlagOutChoice> {
        flag_outs(self.object, column.name(), self.context)
    }
}

fn check(object: &Object<'_, '_>, context: &mut Context<'_>) {
    if object.has("cluster") && object.has("destination_hostgroup") {
        let message = "`cluster` and `destination_hostgroup` both say where the statement goes";
        object.error(
            NOT_TOGETHER,
            message,
            object.key_span("destination_hostgroup"),
            context,
        );
    }
    if object.has("role") && !object.has("cluster") {
        let message = "`role` needs a `cluster`: a hostgroup by number has one role";
        object.error(NOT_TOGETHER, message, object.key_span("role"), context);
    }
    if object.has("replace_pattern") && !object.has("match_pattern") {
        let message = "`replace_pattern` replaces what `match_pattern` matches, and there is none";
        object.error(NOT_TOGETHER, message, object.key_span("replace_pattern"), context);
    }
}

fn digest(object: &Object<'_, '_>, field: &str, context: &mut Context<'_>) -> Option<u64> {
    let text = object.text(field, context)?;
    let digest = units::digest(&text);
    if digest.is_none() {
        let message = format!("expected a digest such as 0x4D7DCFF87DD1A927, found `{text}`");
        object.error(BAD_VALUE, message, object.span(field), context);
    }
    digest
}

/// The flags that `attributes` draws from: `{"flagOUTs": [{"id": 1, "weight": 9}]}`.
fn flag_outs(object: &Object<'_, '_>, field: &str, context: &mut Context<'_>) -> Vec<FlagOutChoice> {
    let Some(text) = object.text(field, context).filter(|text| !text.is_empty()) else {
        return Vec::new();
    };
    let choices = parse_flag_outs(&text);
    if choices.is_none() {
        let message = "expected JSON such as {\"flagOUTs\": [{\"id\": 1, \"weight\": 9}]}";
        object.error(BAD_VALUE, message, object.span(field), context);
    }
    choices.unwrap_or_default()
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
