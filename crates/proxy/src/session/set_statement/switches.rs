//! Variables that are lists of switches. A SET changes the switches that it names and leaves the others: after
//! `SET optimizer_switch='mrr=off'` and `SET optimizer_switch='index_merge=off'` both are off.

use shardwright_sql::set::Value;

/// The lists of both servers that a session can set (`Sys_var_flagset` of sql/sys_vars.cc).
const LISTS: [&str; 3] = ["optimizer_switch", "optimizer_trace", "optimizer_trace_features"];

/// No variable has it in its name.
const BETWEEN: char = '=';

/// A SET of this value, as the variables that it sets: `optimizer_switch=mrr` for a switch, the list itself where all are set.
pub(super) fn set_by(name: &str, value: &Value<'_>) -> Vec<String> {
    let list = value.text().filter(|_| LISTS.contains(&name));
    let switches = list.map(|list| {
        let parts = list.split(|&byte| byte == b',');
        parts.map(|part| {
            part.split(|&byte| byte == b'=')
                .next()
                .unwrap_or_default()
                .trim_ascii()
        })
    });
    match switches {
        Some(mut switches)
            if !switches
                .clone()
                .any(|switch| switch.eq_ignore_ascii_case(b"default")) =>
        {
            switches
                .by_ref()
                .map(|switch| {
                    format!(
                        "{name}{BETWEEN}{}",
                        String::from_utf8_lossy(switch).to_ascii_lowercase()
                    )
                })
                .collect()
        }
        _ => vec![name.to_owned()],
    }
}

/// Whether one of these variables is the one, or the list that has it.
pub(in super::super) fn sets(variables: &[String], variable: &String) -> bool {
    let list = || variable.split_once(BETWEEN).map(|(list, _)| list);
    variables.contains(variable) || list().is_some_and(|list| variables.iter().any(|set| set == list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_a_variable_of_its_own() {
        let of = |name: &str, text: &'static str| set_by(name, &Value::Text(text.as_bytes().into()));
        assert_eq!(
            of("optimizer_switch", "MRR=off, mrr_cost_based=on"),
            ["optimizer_switch=mrr", "optimizer_switch=mrr_cost_based"]
        );
        assert_eq!(of("optimizer_switch", "mrr=off,default"), ["optimizer_switch"]);
        assert_eq!(of("optimizer_switch", ""), ["optimizer_switch="]);
        assert_eq!(of("sql_mode", "a=b"), ["sql_mode"]);
        assert_eq!(set_by("optimizer_trace", &Value::Default), ["optimizer_trace"]);
        let mrr = "optimizer_switch=mrr".to_owned();
        assert!(sets(&["optimizer_switch".to_owned()], &mrr) && sets(std::slice::from_ref(&mrr), &mrr));
        assert!(!sets(&[mrr], &"optimizer_switch".to_owned()));
    }
}
