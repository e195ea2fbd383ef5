//! Any bytes as a dump and as a `proxysql.cnf`: a configuration whose origins lie in the file, the same each time, and
//! problems that can be shown.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shardwright_diagnostics::{Sources, render};
use shardwright_import::{Language, read};
use shardwright_rules::{EngineId, Evaluator, SessionView, Statement};

fuzz_target!(|bytes: &[u8]| {
    for language in [Language::Sql, Language::Cnf] {
        let once = || {
            let mut sources = Sources::new();
            let file = read(&mut sources, "rules", bytes, language, EngineId::Proxysql27);
            let shown = render::text::render(&file.problems, &sources, false);
            (file, sources, shown)
        };
        let (file, sources, shown) = once();
        for span in file.origins.values() {
            assert!(sources.text(span.file).get(span.range()).is_some(), "{span:?} is not in the file");
        }
        let ids: Vec<u32> = file.configuration.graph.rules.iter().map(|rule| rule.id).collect();
        assert!(ids.is_sorted_by(|a, b| a < b), "rules are in the order of their ids");
        let (again, _, shown_again) = once();
        assert_eq!(file.configuration, again.configuration, "two readings differ");
        assert_eq!(shown, shown_again);
        let evaluator = Evaluator::new(file.configuration.into());
        evaluator.decide(&SessionView::default(), &Statement::new(bytes, Default::default()));
    }
});
