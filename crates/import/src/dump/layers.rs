//! LOAD and SAVE: which of them the engine knows, and which tables a script writes and never loads.

use std::collections::BTreeMap;

use shardwright_diagnostics::Span;

/// Modules that are loaded and saved, by their words.
const MODULES: [&str; 9] = [
    "MYSQL USERS",
    "MYSQL SERVERS",
    "MYSQL QUERY RULES",
    "MYSQL FIREWALL",
    "MYSQL VARIABLES",
    "ADMIN VARIABLES",
    "PROXYSQL SERVERS",
    "SCHEDULER",
    "RESTAPI",
];

/// The first words of modules that say nothing of this program's subject; their statements are not looked at.
const OTHERS: [&str; 10] = [
    "PGSQL",
    "LDAP",
    "CLICKHOUSE",
    "SQLITESERVER",
    "CONFIG",
    "COREDUMP",
    "DEBUG",
    "STATS",
    "GENAI",
    "MCP",
];

/// What a LOAD or SAVE does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layers {
    /// Memory becomes what runs.
    ToRuntime(&'static str),
    /// Memory is kept on disk.
    ToDisk,
    /// Rows from elsewhere replace those in memory.
    ToMemory,
    /// Of a module that is not read.
    Other,
    /// The engine refuses it.
    Refused,
}

/// Reads a statement by its words, in capitals.
pub(super) fn read(words: &[String]) -> Layers {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (verb, rest) = match words.as_slice() {
        [verb, rest @ ..] => (*verb, rest),
        [] => return Layers::Refused,
    };
    if rest.first().is_some_and(|first| OTHERS.contains(first)) || rest.starts_with(&["MYSQL", "DIGEST"]) {
        return Layers::Other;
    }
    let [module @ .., way, place] = rest else {
        return Layers::Refused;
    };
    let module = module.join(" ");
    let Some(module) = MODULES.into_iter().find(|known| *known == module) else {
        return Layers::Refused;
    };
    match (verb, *way, *place) {
        ("LOAD", "TO", "RUNTIME" | "RUN") | ("LOAD", "FROM", "MEMORY" | "MEM") => Layers::ToRuntime(module),
        ("LOAD", "FROM", "DISK" | "CONFIG") | ("LOAD" | "SAVE", "TO", "MEMORY" | "MEM") => Layers::ToMemory,
        ("SAVE", "FROM", "RUNTIME" | "RUN") => Layers::ToMemory,
        ("SAVE", "TO", "DISK") | ("SAVE", "FROM", "MEMORY" | "MEM") => Layers::ToDisk,
        _ => Layers::Refused,
    }
}

/// The module that a table is loaded with; for variables, by the beginning of their names.
pub(super) fn module_of(table: &str) -> Option<&'static str> {
    Some(match table {
        "mysql_users" => "MYSQL USERS",
        "mysql_query_rules" | "mysql_query_rules_fast_routing" => "MYSQL QUERY RULES",
        _ if table.starts_with("mysql_firewall_") => "MYSQL FIREWALL",
        _ if table.starts_with("mysql_servers") || table.ends_with("_hostgroups") => "MYSQL SERVERS",
        _ => return None,
    })
}

/// Which modules a script has written since it last loaded them.
#[derive(Default)]
pub(super) struct Written {
    waiting: BTreeMap<&'static str, Span>,
    loads: bool,
}

impl Written {
    pub(super) fn write(&mut self, module: &'static str, place: Span) {
        self.waiting.entry(module).or_insert(place);
    }

    pub(super) fn load(&mut self, module: &'static str) {
        self.loads = true;
        self.waiting.remove(module);
    }

    /// Modules that wait while others are loaded, each with the statement that wrote them first.
    pub(super) fn never_loaded(&self) -> impl Iterator<Item = (&'static str, Span)> {
        let waiting = self.waiting.iter().filter(|_| self.loads);
        waiting.map(|(module, place)| (*module, *place))
    }
}

#[cfg(test)]
mod tests {
    use shardwright_testkit::recorded;

    use super::*;

    fn words(statement: &str) -> Vec<String> {
        let bare = statement.trim_end_matches([';', ' ']);
        bare.split_whitespace().map(str::to_ascii_uppercase).collect()
    }

    #[test]
    fn the_engine_refuses_what_is_refused_here() {
        let mut compared = 0;
        for record in recorded("admin") {
            let statement = record["statement"].as_str().unwrap_or_default();
            let words = words(statement);
            let is_layers = words.first().is_some_and(|word| word == "LOAD" || word == "SAVE");
            // Comments and second statements are none of this function's.
            if !is_layers || statement.contains(['-', '/']) || statement.trim_end_matches(';').contains(';') {
                continue;
            }
            let ours = read(&words);
            if ours == Layers::Other {
                continue;
            }
            compared += 1;
            let is_refused = record["answer"].get("error").is_some();
            assert_eq!(ours == Layers::Refused, is_refused, "{statement}");
        }
        assert!(compared > 250, "{compared}");
    }
}
