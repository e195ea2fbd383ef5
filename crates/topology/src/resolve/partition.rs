//! Whether the keys of a map's shards are a partition: nothing twice, and no gap where all keys are known.

use shardwright_diagnostics::{Diagnostic, Span};

use super::key::key::{DOMAIN, MODULO};
use super::object::Object;
use super::shard::shard::{KEYS, REMAINDERS};
use crate::codes::{KEY_GAP, KEY_OVERLAP, OUTSIDE_DOMAIN};
use crate::fields::AnyField;
use crate::model::{Key, KeyRange, KeyValue, Placement, Shard};
use crate::tree::context::Context;

/// Problems of one kind that are reported for one map.
const MAX_REPORTED: usize = 100;
/// Gaps that one message names.
const MAX_GAPS: usize = 8;

/// Integers of one shard.
#[derive(Clone, Copy)]
struct Claim {
    range: KeyRange,
    shard: u32,
}

/// Reports keys that two shards have, keys outside the domain, and keys of the domain without a shard.
///
/// `object` is the shard map and `part` its `key`.
pub(super) fn check(
    object: &Object<'_, '_>,
    part: &Object<'_, '_>,
    key: &Key,
    shards: &[Shard],
    context: &mut Context<'_>,
) {
    check_texts(shards, context);
    let mut claims = claims(key, shards);
    claims.sort_unstable_by_key(|claim| (claim.range, claim.shard));
    check_overlaps(&claims, shards, context);
    let by_value = key.placement == Placement::Value;
    let (all, field): (_, &dyn AnyField) = match key.placement {
        Placement::Value if key.domain.is_empty() => return,
        Placement::Value => (key.domain.clone(), &DOMAIN),
        Placement::Modulo(modulo) | Placement::Hash { modulo, .. } => {
            let last = i64::try_from(modulo - 1).unwrap_or(i64::MAX);
            (vec![KeyRange { first: 0, last }], &MODULO)
        }
    };
    let span = part.span(field);
    if by_value {
        check_inside(&claims, &all, shards, span, context);
    }
    let gaps = gaps(&claims, &all);
    if let Some(message) = gap_message(&gaps, by_value) {
        object.push(Diagnostic::error(KEY_GAP, message).at(span, ""), context);
    }
}

fn claims(key: &Key, shards: &[Shard]) -> Vec<Claim> {
    let mut claims = Vec::with_capacity(shards.len());
    for (shard, position) in shards.iter().zip(0u32..) {
        let single = |value: &KeyValue| match value {
            KeyValue::Integer(value) => Some(KeyRange {
                first: *value,
                last: *value,
            }),
            KeyValue::Text(_) => None,
        };
        let ranges = if key.placement == Placement::Value {
            &shard.ranges
        } else {
            &shard.remainders
        };
        let all = shard.keys.iter().filter_map(single).chain(ranges.iter().copied());
        claims.extend(all.map(|range| Claim {
            range,
            shard: position,
        }));
    }
    claims
}

fn check_overlaps(claims: &[Claim], shards: &[Shard], context: &mut Context<'_>) {
    let mut found = 0;
    let mut widest: Option<Claim> = None;
    for claim in claims {
        if let Some(earlier) = widest
            && claim.range.first <= earlier.range.last
        {
            found += 1;
            if found <= MAX_REPORTED {
                let last = claim.range.last.min(earlier.range.last);
                let both = KeyRange {
                    first: claim.range.first,
                    last,
                };
                report_overlap(&both.to_string(), earlier.shard, claim.shard, shards, context);
            }
        }
        if widest.is_none_or(|earlier| claim.range.last > earlier.range.last) {
            widest = Some(*claim);
        }
    }
    report_more_overlaps(found, claims.last().map(|claim| claim.shard), shards, context);
}

/// Says how many overlaps were not reported one by one.
fn report_more_overlaps(found: usize, shard: Option<u32>, shards: &[Shard], context: &mut Context<'_>) {
    if let (Some(more), Some(shard)) = (found.checked_sub(MAX_REPORTED).filter(|more| *more > 0), shard) {
        let message = format!("{more} more keys or ranges also belong to an earlier shard");
        let here = keys_span(&shards[shard as usize], context);
        let diagnostic = Diagnostic::error(KEY_OVERLAP, message).at(here, "");
        context.report.push_at_cell(diagnostic);
    }
}

fn check_texts(shards: &[Shard], context: &mut Context<'_>) {
    let mut texts: Vec<(&str, u32)> = Vec::new();
    for (shard, position) in shards.iter().zip(0u32..) {
        texts.extend(shard.keys.iter().filter_map(|key| match key {
            KeyValue::Text(text) => Some((&**text, position)),
            KeyValue::Integer(_) => None,
        }));
    }
    texts.sort_unstable();
    let twice = || texts.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    for pair in twice().take(MAX_REPORTED) {
        report_overlap(pair[0].0, pair[0].1, pair[1].1, shards, context);
    }
    report_more_overlaps(
        twice().count(),
        texts.last().map(|(_, shard)| *shard),
        shards,
        context,
    );
}

fn report_overlap(keys: &str, first: u32, second: u32, shards: &[Shard], context: &mut Context<'_>) {
    let (first, second) = (&shards[first as usize], &shards[second as usize]);
    let (first, second) = if first.origin <= second.origin {
        (first, second)
    } else {
        (second, first)
    };
    let message = if first.origin == second.origin {
        format!("the shard `{}` has the key `{keys}` twice", first.name)
    } else {
        format!(
            "the shards `{}` and `{}` both have the key `{keys}`",
            first.name, second.name
        )
    };
    let there = context.origins.cell(first.origin);
    let there = there.unwrap_or_else(|| keys_span(first, context));
    let here = keys_span(second, context);
    let diagnostic = Diagnostic::error(KEY_OVERLAP, message).at(here, "");
    let diagnostic = if here == there {
        diagnostic
    } else {
        diagnostic.also(there, "first here")
    };
    let diagnostic = context.origins.mark(second.origin, diagnostic);
    context.report.push_at_cell(diagnostic);
}

/// Where a shard's keys are written.
fn keys_span(shard: &Shard, context: &Context<'_>) -> Span {
    let field = if shard.remainders.is_empty() {
        &KEYS
    } else {
        &REMAINDERS
    };
    context.origins.field(shard.origin, field.name())
}

fn check_inside(
    claims: &[Claim],
    all: &[KeyRange],
    shards: &[Shard],
    domain: Span,
    context: &mut Context<'_>,
) {
    let all = joined(all.iter().copied());
    let is_inside = |claim: &&Claim| {
        let at = all.partition_point(|range| range.last < claim.range.first);
        all.get(at)
            .is_some_and(|range| range.contains(claim.range.first) && range.contains(claim.range.last))
    };
    for claim in claims.iter().filter(|claim| !is_inside(claim)).take(MAX_REPORTED) {
        let shard = &shards[claim.shard as usize];
        let message = format!(
            "the key `{}` of `{}` is outside the domain",
            claim.range, shard.name
        );
        let diagnostic = Diagnostic::error(OUTSIDE_DOMAIN, message)
            .at(keys_span(shard, context), "")
            .also(domain, "the domain");
        let diagnostic = context.origins.mark(shard.origin, diagnostic);
        context.report.push_at_cell(diagnostic);
    }
}

/// Sorted ranges without overlaps and without neighbours that touch.
fn joined(ranges: impl Iterator<Item = KeyRange>) -> Vec<KeyRange> {
    let mut joined: Vec<KeyRange> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.first <= last.last.saturating_add(1) => last.last = last.last.max(range.last),
            _ => joined.push(range),
        }
    }
    joined
}

/// The parts of `all` that no claim covers; claims are sorted.
fn gaps(claims: &[Claim], all: &[KeyRange]) -> Vec<KeyRange> {
    let covered = joined(claims.iter().map(|claim| claim.range));
    let mut gaps = Vec::new();
    for range in joined(all.iter().copied()) {
        let mut next = Some(range.first);
        let from = covered.partition_point(|cover| cover.last < range.first);
        for cover in covered[from..]
            .iter()
            .take_while(|cover| cover.first <= range.last)
        {
            if let Some(first) = next.filter(|first| *first < cover.first) {
                gaps.push(KeyRange {
                    first,
                    last: cover.first - 1,
                });
            }
            next = cover.last.checked_add(1);
        }
        if let Some(first) = next.filter(|first| *first <= range.last) {
            gaps.push(KeyRange {
                first,
                last: range.last,
            });
        }
    }
    gaps
}

fn gap_message(gaps: &[KeyRange], by_value: bool) -> Option<String> {
    if gaps.is_empty() {
        return None;
    }
    let mut named: Vec<String> = gaps.iter().take(MAX_GAPS).map(ToString::to_string).collect();
    if gaps.len() > MAX_GAPS {
        named.push(format!("and {} more", gaps.len() - MAX_GAPS));
    }
    let what = if by_value {
        "these keys of the domain"
    } else {
        "these remainders"
    };
    Some(format!("no shard has {what}: {}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn claims_of(ranges: &[(i64, i64)]) -> Vec<Claim> {
        let mut claims: Vec<Claim> = ranges
            .iter()
            .map(|(first, last)| Claim {
                range: KeyRange {
                    first: *first,
                    last: *last,
                },
                shard: 0,
            })
            .collect();
        claims.sort_unstable_by_key(|claim| claim.range);
        claims
    }

    proptest! {
        #[test]
        fn a_value_is_in_a_gap_if_no_claim_has_it(
            claimed in proptest::collection::vec((-20i64..20, 0i64..6), 0..12),
            domain in proptest::collection::vec((-20i64..20, 0i64..12), 1..4),
        ) {
            let range = |(first, len): &(i64, i64)| (*first, first + len);
            let claims = claims_of(&claimed.iter().map(range).collect::<Vec<_>>());
            let all: Vec<KeyRange> = claims_of(&domain.iter().map(range).collect::<Vec<_>>())
                .iter().map(|claim| claim.range).collect();
            let gaps = gaps(&claims, &all);
            for value in -30..40 {
                let expected = all.iter().any(|range| range.contains(value))
                    && !claims.iter().any(|claim| claim.range.contains(value));
                prop_assert_eq!(gaps.iter().any(|gap| gap.contains(value)), expected, "value {}", value);
            }
        }
    }

    #[test]
    fn the_ends_of_the_number_line_do_not_overflow() {
        let all = [KeyRange {
            first: i64::MIN,
            last: i64::MAX,
        }];
        assert_eq!(gaps(&claims_of(&[(i64::MIN, i64::MAX)]), &all), []);
        assert_eq!(
            gaps(&claims_of(&[(i64::MIN, 0), (2, i64::MAX)]), &all),
            [KeyRange { first: 1, last: 1 }]
        );
    }
}
