//! `lint --fix`: one run removes all that is dead, and nothing else.

use crate::lint::project;

#[test]
fn one_run_removes_all_that_is_dead() {
    let head = "version: 1\nclusters:\n  shop: {type: single, servers: {a: {host: a.db}}}\nusers:\n  \
                app: {password: {env: P}, cluster: shop}\nquery_rules:\n  raw:\n    at: before_all\n    rules:\n";
    let live = [
        "{match_digest: ^SELECT a, cluster: shop, apply: 1}",
        "{match_digest: ^UPDATE, flagOUT: 800}",
        "{flagIN: 800, cluster: shop, apply: 1}",
    ];
    let dead = [
        "{match_digest: ^SELECT ab, cluster: shop, apply: 1}",
        // The chain is dead because what leads to it is.
        "{match_digest: ^SELECT ac, flagOUT: 700}",
        "{flagIN: 700, match_digest: x, flagOUT: 701}",
        "{flagIN: 700, match_digest: y, cluster: shop, apply: 1}",
        "{flagIN: 701, match_digest: z, cluster: shop, apply: 1}",
        "{username: ghost, cluster: shop, apply: 1}",
        // Behind a rule without a condition.
        "{flagIN: 800, match_digest: x, cluster: shop, apply: 1}",
        "{flagIN: 800, match_digest: y, cluster: shop, delay: 5, apply: 1}",
    ];
    let written = |rules: &[&str]| {
        let rules = rules.iter().map(|rule| format!("      - {rule}\n"));
        head.to_owned() + &rules.collect::<String>()
    };
    let environment = project("", &written(&[live.as_slice(), &dead].concat()));
    let output = environment
        .run(["lint", "--select", "SW201,SW202,SW205,SW206", "--fix"])
        .unwrap();
    assert_eq!(output.code(), Some(0), "{output}");
    assert_eq!(
        environment.read("topology/shop.yaml").unwrap(),
        written(&live),
        "{output}"
    );
}

#[test]
fn a_list_of_dead_rules_becomes_empty() {
    let written = |second: &str, third: &str| {
        format!(
            "version: 1\nclusters:\n  shop: {{type: single, servers: {{a: {{host: a.db}}}}}}\nusers:\n  \
             app: {{password: {{env: P}}, cluster: shop}}\nquery_rules:\n  first:\n    at: before_all\n    rules:\n      \
             - {{match_digest: ^SELECT, cluster: shop, apply: 1}}\n  second:\n    at: after_all\n    rules:{second}\n\n  \
             # What stands behind them stays.\n  third:\n    rules:{third}\n    at: after_all\n"
        )
    };
    let rule = |table: &str| format!("{{match_digest: ^SELECT {table}, cluster: shop, apply: 1}}");
    let dead = written(
        &format!("\n      - {}\n      - {}", rule("a"), rule("b")),
        &format!(" [{}]", rule("c")),
    );
    let environment = project("", &dead);
    let output = environment.run(["lint", "--select", "SW201", "--fix"]).unwrap();
    assert_eq!(output.code(), Some(0), "{output}");
    assert_eq!(
        environment.read("topology/shop.yaml").unwrap(),
        written(" []", " []"),
        "{output}"
    );
    // A comment in the list is somebody's: the rules stay.
    let noted = written(
        "\n      # Ask Ada first.\n      - {match_digest: ^SELECT a, apply: 1}",
        " []",
    );
    let environment = project("", &noted);
    let output = environment.run(["lint", "--select", "SW201", "--fix"]).unwrap();
    assert_eq!(output.code(), Some(3), "{output}");
    assert_eq!(environment.read("topology/shop.yaml").unwrap(), noted, "{output}");
}

#[test]
fn what_has_no_effect_goes() {
    let rules = |first: &str, second: &str, dead: &str, block: &str| {
        format!(
            "version: 1\nclusters:\n  shop: {{type: single, servers: {{a: {{host: a.db}}}}}}\nusers:\n  \
             app: {{password: {{env: P}}, cluster: shop}}\nquery_rules:\n  raw:\n    at: before_all\n    rules:\n      \
             - {{match_digest: ^SELECT a, cluster: shop, {first}apply: 1}}\n      \
             - {{match_digest: ^SELECT b, cluster: shop, apply: 1{second}}}\n{dead}      \
             - match_digest: ^SELECT d\n{block}        apply: 1\n"
        )
    };
    let topology = rules(
        "flagOUT: 500, ",
        ", sticky_conn: 1",
        "      - {flagIN: 700, match_digest: ^SELECT c, cluster: shop, apply: 1}\n",
        "        flagOUT: 500\n",
    );
    let environment = project("", &topology);
    let output = environment
        .run(["lint", "--select", "SW202,SW207,SW612", "--fix"])
        .unwrap();
    assert_eq!(output.code(), Some(0), "{output}");
    assert!(output.stderr.contains("4 fixed"), "{output}");
    assert_eq!(
        environment.read("topology/shop.yaml").unwrap(),
        rules("", "", "", "")
    );
}
