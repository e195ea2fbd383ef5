//! Whether a statement reads the server's own lists of schemas and tables, where names are those of the server.

use std::ops::ControlFlow;

use sqlparser::ast::{ObjectName, Query, Visit, Visitor};

use super::common_tables::{CommonTables, parts_of};
use crate::class::StatementClass;
use crate::lex::LexMode;
use crate::parse::Reading;
use crate::schema;

/// The schemas whose tables list what a server has.
const CATALOGUES: [&str; 4] = ["information_schema", "performance_schema", "mysql", "sys"];

/// The tables that a statement names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatalogueUse {
    /// None of the catalogue, as far as can be seen.
    None,
    /// At least one, and no others.
    Only,
    /// Some of the catalogue, and others.
    Mixed,
}

/// Which tables `text` names. A text that is not understood, and has the name of such a schema, counts as mixed.
pub fn catalogue_use(text: &[u8], mode: LexMode) -> CatalogueUse {
    let reading = Reading::of(text, mode).ok();
    let explained = reading.as_ref().and_then(|reading| match reading.class {
        StatementClass::Explain => reading.explained(),
        _ => None,
    });
    let found = explained.as_ref().or(reading.as_ref()).map(|reading| {
        reading.with_tree(|statement| {
            let mut names = Names::default();
            let _: ControlFlow<()> = statement.visit(&mut names);
            names
        })
    });
    match found {
        Some(Ok(names)) => match (names.catalogue, names.others) {
            (false, _) => CatalogueUse::None,
            (true, false) => CatalogueUse::Only,
            (true, true) => CatalogueUse::Mixed,
        },
        _ if schema::references(text, mode)
            .iter()
            .any(|reference| is_catalogue(&String::from_utf8_lossy(&reference.name))) =>
        {
            CatalogueUse::Mixed
        }
        _ => CatalogueUse::None,
    }
}

fn is_catalogue(schema: &str) -> bool {
    CATALOGUES.iter().any(|name| schema.eq_ignore_ascii_case(name))
}

#[derive(Default)]
struct Names {
    common: CommonTables,
    catalogue: bool,
    others: bool,
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.common.enter(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.common.leave(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        match parts_of(name).as_deref() {
            Some([table]) if table.eq_ignore_ascii_case("dual") => {}
            Some([table]) if self.common.is_one(table) == Ok(true) => {}
            Some([schema, _]) if is_catalogue(schema) => self.catalogue = true,
            _ => self.others = true,
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_catalogue_are_known() {
        use CatalogueUse::{Mixed, None, Only};
        for (text, expected) in [
            ("SELECT 1", None),
            ("SELECT a FROM t, shop.u", None),
            ("SELECT table_name FROM information_schema.tables", Only),
            (
                "EXPLAIN SELECT t.a FROM INFORMATION_SCHEMA.`TABLES` t JOIN mysql.db d ON 1",
                Only,
            ),
            (
                "WITH c AS (SELECT * FROM sys.processlist) SELECT * FROM c, dual",
                Only,
            ),
            ("SELECT a FROM t WHERE b IN (SELECT c FROM mysql.x)", Mixed),
            ("INSERT INTO t SELECT a FROM information_schema.tables", Mixed),
            ("DELETE FROM t WHERE a = 'information_schema.x'", None),
            ("LOAD DATA INFILE 'x' INTO TABLE mysql.t", Mixed),
        ] {
            assert_eq!(
                catalogue_use(text.as_bytes(), LexMode::default()),
                expected,
                "{text}"
            );
        }
    }
}
