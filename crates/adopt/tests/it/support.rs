//! Rule sets as files, and what becomes of them.

use shardwright_adopt::{Adopted, Difference, Options, adopt};
use shardwright_diagnostics::Sources;
use shardwright_import::{Language, RuleFile, read};
use shardwright_prover::equivalence::{Equivalence, equivalence};
use shardwright_rules::EngineId;

/// A rule set written as statements for the admin port.
pub(crate) fn imported(sql: &str) -> RuleFile {
    let file = read(
        &mut Sources::new(),
        "rules.sql",
        sql.as_bytes(),
        Language::Sql,
        EngineId::Proxysql27,
    );
    assert!(!file.problems.has_errors(), "{:?}", file.problems.sorted());
    file
}

/// The project of a rule set, with every rule as it is.
pub(crate) fn adopted(file: &RuleFile) -> Adopted {
    let options = Options {
        only_exact: true,
        ..Options::default()
    };
    adopt(file, &options).unwrap()
}

/// The project of a rule set, with rules lifted to objects.
pub(crate) fn lifted(file: &RuleFile) -> Adopted {
    adopt(file, &Options::default()).unwrap()
}

/// What was lifted, and what was not.
pub(crate) fn lifts(adopted: &Adopted) -> String {
    let lifted = &adopted.lifted;
    let mut out = String::new();
    for joined in &lifted.joined {
        out += &format!("joined {joined}\n");
    }
    for lift in &lifted.lifts {
        out += &format!("{}: {:?}\n", lift.address, lift.rules);
    }
    for resisted in &lifted.resisted {
        let tried = resisted.address.as_ref();
        let tried = tried.map_or_else(String::new, |address| format!(" as {address}"));
        out += &format!("rule {} stays{tried}: {}\n", resisted.rule, resisted.why);
    }
    out
}

/// The files of a project, one after the other.
pub(crate) fn files(adopted: &Adopted) -> String {
    let files = adopted.built.files.iter();
    files
        .map(|file| format!("--- {}\n{}", file.path, file.text))
        .collect()
}

/// Differences as people see them.
pub(crate) fn lines(differences: &[Difference]) -> String {
    let line = |difference: &Difference| {
        let table = difference.table.map_or("", |table| table.name());
        let why = difference.why.map_or_else(String::new, |why| format!(" ({why})"));
        format!("{table} {}: {}{why}\n", difference.what, difference.how)
    };
    differences.iter().map(line).collect()
}

/// Every statement goes the same way by the project as by the rule set.
pub(crate) fn assert_same_routing(file: &RuleFile, adopted: &Adopted, what: &str) {
    let answer = equivalence(&file.configuration, adopted.built.configuration());
    assert_eq!(answer, Equivalence::Proved, "{what}\n{}", files(adopted));
}
