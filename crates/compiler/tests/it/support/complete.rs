//! Complete trees, counted without the compiler. The benchmark of trees is built with this file too.

use shardwright_rules::{EngineId, RegexEngine};

/// The mean cost of a complete tree whose chains stand in one piece each, a chain behind the one that jumps to it, by the
/// prices of an engine.
pub(crate) fn complete_tree_ns(keys: i64, fan_out: i64, engine: EngineId) -> f64 {
    fn walk(keys: i64, fan_out: i64, evaluations: i64, rules: &mut i64, sums: &mut (i64, i64)) {
        let part = |nth: i64| keys * (nth + 1) / fan_out - keys * nth / fan_out;
        let parts: Vec<i64> = if keys <= fan_out {
            vec![1; keys as usize]
        } else {
            (0..fan_out).map(part).collect()
        };
        for (at, size) in parts.iter().enumerate() {
            if *size == 1 {
                sums.0 += evaluations + at as i64 + 1;
                sums.1 += *rules + at as i64 + 1;
            }
        }
        *rules += parts.len() as i64 + 1;
        for (at, size) in parts.iter().enumerate().filter(|(_, size)| **size > 1) {
            walk(*size, fan_out, evaluations + at as i64 + 1, rules, sums);
        }
    }
    let (mut rules, mut sums) = (0, (0, 0));
    walk(keys, fan_out, 0, &mut rules, &mut sums);
    let prices = engine.profile().prices;
    (sums.0 as f64 * prices.evaluation_ns(RegexEngine::Pcre) + sums.1 as f64 * prices.visit_ns) / keys as f64
}
