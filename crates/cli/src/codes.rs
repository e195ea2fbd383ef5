//! The pages of every code that any stage reports.

use shardwright_diagnostics::CodeDoc;

shardwright_diagnostics::codes! {
    ONLY_COMMENTS = "SW310": "a shard map finds its key only in comments";
    UNEXPECTED = "SW801": "a statement does not go where a route test says";
    REFUTED = "SW802": "a property does not hold";
    UNDECIDED = "SW803": "a property is neither proved nor refuted";
    UNCOVERED = "SW804": "no test comes to a part of the configuration";
    TOO_LITTLE = "SW805": "the tests exercise or notice too little";
    SURVIVED = "SW806": "no test notices when the configuration is broken";
    UNUSED_ALLOW = "SW810": "an allow comment matches no finding";
    EXPIRED_ALLOW = "SW811": "a comment allows a finding until a day that has passed";
    UNREADABLE_ALLOW = "SW812": "a comment that allows a finding cannot be read, or has no reason";
    TEAM_RULE_BROKEN = "SW820": "a rule of the team is not satisfied";
    TEAM_TEST_WRONG = "SW821": "a test of a team's rule does not hold";
}

/// Every page, by code.
pub(crate) fn pages() -> Vec<CodeDoc> {
    let mut pages: Vec<CodeDoc> = [
        shardwright_documents::CODES,
        shardwright_topology::CODES,
        shardwright_compiler::CODES,
        shardwright_analysis::CODES,
        shardwright_import::CODES,
        CODES,
        REFUSALS,
    ]
    .concat();
    pages.sort_by_key(|page| page.code);
    pages
}

/// The refusals that clients get, which name their code.
const REFUSALS: &[CodeDoc] = &[
    page(
        "SW351",
        "a statement has no shard key",
        "The user's statements are placed by a shard map, and the statement has no key in any form that the map accepts.\n\n\
         The refusal lists the forms. `missing_key` of the map says what happens to such statements: `statements`,\n\
         `session_setup` and `begin` each have an answer of their own. Note that the `mysql` and `mariadb` command-line\n\
         clients remove comments unless they are started with `--comments`.\n",
    ),
    page(
        "SW352",
        "no shard holds a statement's key",
        "The statement has a key, and no shard of the map lists it. `unknown_key: {cluster: NAME}` sends such statements\n\
         somewhere; the default refuses them.\n",
    ),
    page(
        "SW353",
        "a statement has more than one shard key",
        "Two comments, or a comment and the session's schema or a predicate, name different keys. `conflict: first` takes\n\
         the first finder's; the default refuses.\n",
    ),
    page(
        "SW354",
        "a statement cannot be placed on one shard",
        "The map finds its key in a column, and the statement does not pin that column to values of one shard: there is an\n\
         OR, a NOT, a subquery, a join that is not limited, or a list whose values are on several shards. Ask each shard for\n\
         its own rows. A guess would be a wrong answer, so there is none.\n",
    ),
    page(
        "SW355",
        "a statement names another shard's schema",
        "The statement belongs to one shard and names a schema that belongs to another. On one server that would read the\n\
         other shard's rows; on two it could not work at all.\n",
    ),
    page(
        "SW356",
        "a statement belongs elsewhere than the open transaction",
        "A transaction runs on one server. Commit or roll back before speaking to another shard.\n",
    ),
    page(
        "SW357",
        "an engine annotation from a user who is not allowed them",
        "`/* hostgroup=5 */` and its kin override every rule. They are refused unless `users.NAME.annotations: allow`.\n",
    ),
    page(
        "SW358",
        "tables without a schema, in the logical schema",
        "The session is in the map's logical schema and the statement names tables without a schema. `unqualified: qualify`\n\
         takes them to be of the logical schema; the default refuses.\n",
    ),
    page(
        "SW359",
        "BEGIN without a shard key",
        "A transaction opens on one server, so BEGIN needs the key too: `/* tenant=17 */ BEGIN`. With\n\
         `missing_key: {begin: first_statement}` the bundled engine opens it where the first statement with a key goes.\n",
    ),
    page(
        "SW360",
        "a view where a column map needs a base table",
        "The map finds its key in a column, and the statement names a view. A view may call another column by the key's\n\
         name, or aggregate over rows of other keys, so `WHERE tenant=5` would not say where the rows are. Name the tables\n\
         that the view stands on. If it hands the key column on as it is, state it: `tables: {views: {v_orders: [orders]}}`\n\
         in the shard map. The bundled proxy asks the server what a table is on first use, and again after any change of\n\
         tables that passes through it, after a new generation, and after 60 seconds.\n",
    ),
    page(
        "SW361",
        "a text that ends inside a literal or a comment",
        "On ProxySQL, patterns see a statement up to its first NUL byte, and the engine reads annotations behind it. A text\n\
         that seems to end inside a literal, a quoted name or a comment is refused. Write a NUL byte as `\\0`, which every\n\
         driver's escaping does.\n",
    ),
];

const fn page(code: &'static str, title: &'static str, page: &'static str) -> CodeDoc {
    CodeDoc {
        code: shardwright_diagnostics::Code::new(code),
        title,
        page,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_page() {
        let pages = pages();
        for pair in pages.windows(2) {
            assert_ne!(
                pair[0].code, pair[1].code,
                "{} and {}",
                pair[0].title, pair[1].title
            );
        }
        for page in pages {
            assert!(
                !page.title.is_empty() && page.page.len() > 40,
                "{} explains nothing",
                page.code
            );
        }
    }
}
