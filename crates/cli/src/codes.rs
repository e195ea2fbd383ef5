//! The pages of every code that any stage reports.

use shardwright_diagnostics::CodeDoc;

shardwright_diagnostics::codes! {
    ONLY_COMMENTS = "SW310": "a shard map finds its key only in comments";
    UNEXPECTED = "SW801": "a statement does not go where a route test says";
    REFUTED = "SW802": "a property does not hold";
    UNDECIDED = "SW803": "a property is neither proved nor refuted";
    UNCOVERED = "SW804": "no test reaches a part of the configuration";
    TOO_LITTLE = "SW805": "the tests exercise or notice too little";
    SURVIVED = "SW806": "no test notices when the configuration is broken";
    UNUSED_ALLOW = "SW810": "an allow comment matches no finding";
    EXPIRED_ALLOW = "SW811": "a comment allows a finding until a day that has passed";
    UNREADABLE_ALLOW = "SW812": "a comment that allows a finding cannot be read, or has no reason";
    TEAM_RULE_BROKEN = "SW820": "a rule of the team is not satisfied";
    TEAM_TEST_WRONG = "SW821": "a test of a team's rule does not hold";
}

/// What plans for a live ProxySQL warn of, by the codes of `shardwright_targets::proxysql::codes`.
const LIVE: &[CodeDoc] = &[
    page(
        "SW830",
        "rows of a live ProxySQL are staged and not live",
        include_str!("../../../docs/rules/SW830.md"),
    ),
    page(
        "SW831",
        "a variable takes effect when ProxySQL starts next",
        include_str!("../../../docs/rules/SW831.md"),
    ),
    page(
        "SW832",
        "a live ProxySQL does not know a variable",
        include_str!("../../../docs/rules/SW832.md"),
    ),
    page(
        "SW833",
        "a password cannot be found",
        include_str!("../../../docs/rules/SW833.md"),
    ),
    page(
        "SW834",
        "rows of others contradict a configuration",
        include_str!("../../../docs/rules/SW834.md"),
    ),
    page(
        "SW835",
        "rules run for a moment under a setting that is not theirs",
        include_str!("../../../docs/rules/SW835.md"),
    ),
    page(
        "SW836",
        "a hostgroup gets the servers of another cluster",
        include_str!("../../../docs/rules/SW836.md"),
    ),
    page(
        "SW837",
        "a run has not ended",
        include_str!("../../../docs/rules/SW837.md"),
    ),
    page(
        "SW838",
        "clients hold prepared statements that new rules refuse",
        include_str!("../../../docs/rules/SW838.md"),
    ),
    page(
        "SW839",
        "objects are left to others",
        include_str!("../../../docs/rules/SW839.md"),
    ),
    page(
        "SW840",
        "a load puts servers back for a moment",
        include_str!("../../../docs/rules/SW840.md"),
    ),
    page(
        "SW841",
        "rows of others stay",
        include_str!("../../../docs/rules/SW841.md"),
    ),
    page(
        "SW842",
        "what a project cannot say stays as it is",
        include_str!("../../../docs/rules/SW842.md"),
    ),
];

/// Every page, by code.
pub(crate) fn pages() -> Vec<CodeDoc> {
    let mut pages: Vec<CodeDoc> = [
        shardwright_documents::CODES,
        shardwright_topology::CODES,
        shardwright_compiler::CODES,
        shardwright_analysis::CODES,
        shardwright_import::CODES,
        CODES,
        LIVE,
        REFUSALS,
    ]
    .concat();
    pages.sort_by_key(|page| page.code);
    pages
}

/// Whether plans can have a finding of this code.
pub(crate) fn is_of_plans(code: &str) -> bool {
    let mut pages = shardwright_analysis::CODES.iter().chain(LIVE);
    pages.any(|page| page.code.to_string() == code)
}

/// The refusals that clients get, which name their code.
const REFUSALS: &[CodeDoc] = &[
    page(
        "SW351",
        "a statement has no shard key",
        "A shard map routes this user's statements. The statement has no key in any form that the map accepts. The message\n\
         lists the forms. `missing_key` of the map sets what happens to such statements, separately for `statements`,\n\
         `session_setup` and `begin`.\n\n\
         The `mysql` and `mariadb` command-line clients remove comments unless they are started with `--comments`.\n",
    ),
    page(
        "SW352",
        "no shard holds a statement's key",
        "The statement has a key, but no shard of the map lists it. `unknown_key: {cluster: NAME}` sends such statements to\n\
         a cluster. By default they are refused.\n",
    ),
    page(
        "SW353",
        "a statement has more than one shard key",
        "Two comments, or a comment and the session's schema or a predicate, name different keys. With\n\
         `conflict: first` the key of the first finder counts. By default the statement is refused.\n",
    ),
    page(
        "SW354",
        "a statement cannot be placed on one shard",
        "The map finds its key in a column. The statement does not limit that column to values of one shard: it has an OR,\n\
         a NOT, a subquery, a join without the key, or a list whose values are on several shards. Send one statement to\n\
         each shard. The proxy does not guess, because a guess could return the wrong rows.\n",
    ),
    page(
        "SW355",
        "a statement names another shard's schema",
        "The statement belongs to one shard and names a schema that belongs to another. On one server it would read the\n\
         other shard's rows. On two servers it would fail.\n",
    ),
    page(
        "SW356",
        "a statement belongs elsewhere than the open transaction",
        "A transaction runs on one server. Commit or roll back before you use another shard.\n",
    ),
    page(
        "SW357",
        "an engine annotation from a user who is not allowed them",
        "Annotations such as `/* hostgroup=5 */` override every rule. They are refused unless the user has\n\
         `annotations: allow`.\n",
    ),
    page(
        "SW358",
        "tables without a schema, in the logical schema",
        "The session is in the map's logical schema and the statement names tables without a schema. With\n\
         `unqualified: qualify` they are tables of the logical schema. By default the statement is refused.\n",
    ),
    page(
        "SW359",
        "BEGIN without a shard key",
        "A transaction opens on one server, so BEGIN needs the key too: `/* tenant=17 */ BEGIN`. With\n\
         `missing_key: {begin: first_statement}` the bundled engine opens it on the server of the first statement with a key.\n",
    ),
    page(
        "SW360",
        "a view where a column map needs a base table",
        "The map finds its key in a column, and the statement names a view. A view can use the key's name for another\n\
         column, or aggregate rows of other keys. Then `WHERE tenant=5` does not tell where the rows are. Name the base\n\
         tables of the view instead. If the view returns the key column unchanged, declare it in the shard map:\n\
         `tables: {views: {v_orders: [orders]}}`. The bundled proxy asks the server on first use whether a name is a view.\n\
         It asks again after a change of tables that passes through it, after a new generation, and after 60 seconds.\n",
    ),
    page(
        "SW361",
        "a text that ends inside a literal or a comment",
        "On ProxySQL, patterns see a statement only up to its first NUL byte, but the engine also reads annotations after\n\
         it. A text that seems to end inside a literal, a quoted name or a comment is refused. Write a NUL byte as `\\0`, as\n\
         drivers do when they escape values.\n\n\
         With `regex: re2`, a text that is no UTF-8 is refused too: RE2 matches nothing across such bytes. Let clients use\n\
         utf8mb4.\n",
    ),
    page(
        "SW362",
        "a key of a shard that is refused",
        "The topology refuses the shard of this key (`refuse`), for example while it is moved or because it has left. The\n\
         message is what the topology says. COMMIT and ROLLBACK still end a transaction that is open.\n\n\
         On ProxySQL, executions of statements that were prepared before do not get the words of the topology. Prepare the\n\
         statement again to see them.\n",
    ),
    page(
        "SW363",
        "more than a read from a user who only reads",
        "The user has `role: reader`: readers take its statements, on every cluster. Reads, session setup and transactions\n\
         pass. Everything else is refused: writes, locking reads, CALL, functions that are not known to be harmless (bundled),\n\
         XA, and SET of what is not the session's own. Use an account with `role: writer` for it.\n",
    ),
    page(
        "SW364",
        "an execution that a route refuses",
        "A route of the topology refuses the statement (`refuse`). Queries and preparations get the words of the route. On\n\
         ProxySQL, the execution of a statement that was prepared before the route was there gets this code. Prepare the\n\
         statement again to see the words.\n",
    ),
    page(
        "SW365",
        "a key column that compares or stores a key otherwise than the map",
        "The map finds its key in a column. It places a key by its text: `'A '`, `'a'` and `'A'` are three keys, and so are\n\
         `'01'` and `'1'`. The server compares by the type and the collation of the column, and may take them for one. Then rows\n\
         of one key would be on two shards. The message names the column, its type and the form that is read:\n\n\
         * Keys that the map lists are read in every column that tells keys of different shards apart.\n\
         * Where every value has a shard or a cluster (`hash`, `remainder`, `unknown_key` with a cluster), texts are read in any\n\
           form in columns with a `_bin` collation. Under a collation that ignores case, only printable ASCII without capitals,\n\
           `` ` `` and `~`. Blanks at the end are read only where the collation does not pad.\n\
         * New rows must hold the key exactly: it fits the type, and nothing in the table (a generated column, a BEFORE\n\
           trigger) replaces it.\n\n\
         Write the key in that form, or give the column another collation: `ALTER TABLE orders MODIFY tenant VARCHAR(20) COLLATE\n\
         utf8mb4_bin NOT NULL`. A table of the statement that lacks the column is refused too. Only the bundled proxy asks\n\
         servers for columns.\n\n\
         A statement is refused too if foreign keys pass its change on to a key column: an UPDATE of a column that a key column\n\
         refers to with ON UPDATE CASCADE, or a DELETE of rows whose children get NULL as their key. Their rows would stay on\n\
         the shard of the old key. Declare the foreign key with RESTRICT, and change the rows of both tables yourself.\n\n\
         A key beyond ASCII is read only in a session whose character set is utf8mb4. Otherwise its bytes are another text\n\
         to the server. Write `SET NAMES utf8mb4` first, or use keys in ASCII.\n",
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
