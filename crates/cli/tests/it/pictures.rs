//! `graph` and `report`: pictures of rule sets, one of them in a real browser.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use shardwright_testkit::CommandEnvironment;

use crate::rule_sets::with_rules;
use crate::support::example;

#[test]
fn graphs_in_every_form() {
    let environment = with_rules();
    let run = |form: &str| {
        environment
            .run(["graph", "rules.sql", "--emit", form])
            .unwrap()
            .success()
            .stdout
    };
    insta::assert_snapshot!(run("tree"), @r"
    chain 0: 2 rules, 2 patterns, at most 2 evaluated from here   # mysql_query_rules
      rule 10 → shop reader (hostgroup 2)
      rule 20 → shop writer (hostgroup 1)
      nothing matches → default hostgroup
    ");
    insta::assert_snapshot!(run("dot"), @r##"
    digraph rules {
      rankdir=LR; node [shape=box, fontname="Helvetica"]; edge [fontname="Helvetica"];
      c0 [label="chain 0\n2 rules\nmysql_query_rules", style=filled, fillcolor="#e8eefc"];
      h1 [label="shop writer (hostgroup 1)", shape=ellipse];
      h2 [label="shop reader (hostgroup 2)", shape=ellipse];
      fallthrough [label="default hostgroup", shape=ellipse];
      c0 -> h2;
      c0 -> h1;
      c0 -> fallthrough [style=dashed];
    }
    "##);
    insta::assert_snapshot!(run("mermaid"), @r#"
    flowchart LR
      c0["chain 0<br/>2 rules<br/>mysql_query_rules"]
      h1(["shop writer (hostgroup 1)"])
      h2(["shop reader (hostgroup 2)"])
      fallthrough(["default hostgroup"])
      c0 --> h2
      c0 --> h1
      c0 -.-> fallthrough
    "#);
    let json: Value = serde_json::from_str(&run("json")).unwrap();
    assert_eq!(json["worst_evaluations"], 2);
    assert_eq!(json["chains"][0]["rules"], 2);
}

#[test]
fn the_graph_of_every_example() {
    for name in ["tenants", "two-level", "legacy-rules"] {
        let environment = example(name);
        for engine in ["bundled", "proxysql-2.7"] {
            let output = environment.run(["graph", "--engine", engine]).unwrap().success();
            assert!(
                output.stdout.starts_with("chain 0"),
                "{name} {engine}\n{}",
                output.stdout
            );
        }
    }
}

#[test]
fn a_page_needs_nothing_else() {
    let environment = with_rules();
    let page = environment.run(["report", "rules.sql"]).unwrap().success().stdout;
    assert_eq!(
        page,
        environment.run(["report", "rules.sql"]).unwrap().success().stdout
    );
    // Nothing is loaded: no address of anything stands in it.
    for loaded in ["http:", "https:", "src=", "url(", "@import", "<link", "canary"] {
        assert!(!page.contains(loaded), "{loaded}");
    }
    for part in [
        "id=\"graph\"",
        "id=\"findings\"",
        "id=\"rules\"",
        "SW201",
        "db2:3306",
        "rules.sql:6",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let written = environment
        .run(["report", "rules.sql", "-o", "report.html"])
        .unwrap();
    assert_eq!(written.success().stdout, "");
    assert_eq!(environment.read("report.html").unwrap(), page);
}

/// `compile` and the page count a server that is in two hostgroups once.
#[test]
fn the_page_counts_servers_as_compile_does() {
    let environment = example("galera");
    for engine in ["bundled", "proxysql-2.7"] {
        let stats = environment
            .run(["compile", "--engine", engine, "--stats", "--format", "json"])
            .unwrap()
            .success()
            .stdout;
        let stats: Value = serde_json::from_str(&stats).unwrap();
        let page = environment
            .run(["report", "--engine", engine])
            .unwrap()
            .success()
            .stdout;
        let tile = format!("<b>{}</b><span>servers</span>", stats["servers"]);
        assert!(page.contains(&tile), "{engine}: {tile}");
    }
}

#[test]
fn what_people_write_is_text_in_the_page() {
    let environment = with_rules();
    let hostile = "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, comment) \
        VALUES (1, 1, '</code><script>alert(1)</script>', '\"><img>');\n";
    environment.write("hostile.sql", hostile).unwrap();
    let page = environment
        .run(["report", "hostile.sql"])
        .unwrap()
        .success()
        .stdout;
    assert!(
        !page.contains("<script>alert") && !page.contains("<img"),
        "{page}"
    );
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
}

#[test]
fn the_page_of_a_project_tells_what_its_tests_come_to() {
    for engine in ["bundled", "proxysql-2.7"] {
        let environment = example("tenants");
        let page = environment
            .run(["report", "--engine", engine])
            .unwrap()
            .success()
            .stdout;
        let coverage = environment
            .run(["test", "--engine", engine, "--coverage", "--format", "json"])
            .unwrap()
            .success()
            .stdout;
        let coverage: Value = serde_json::from_str(&coverage).unwrap();
        let told = &coverage["engines"][0]["coverage"];
        for part in ["rules", "shards", "branches"] {
            let (covered, total) = (&told[part]["covered"], &told[part]["total"]);
            assert!(
                page.contains(&format!("{part}: {covered} of {total}<")),
                "{engine}: {part}: {covered} of {total}"
            );
        }
        assert!(page.contains("all as expected"), "{engine}");
    }
    let environment = with_rules();
    let page = environment.run(["report", "rules.sql"]).unwrap().success().stdout;
    assert!(!page.contains("id=\"coverage\""));
}

/// 400 hostgroups are a few boxes that say what they stand for, and no box is left out.
#[test]
fn many_hostgroups_are_a_box_for_each_kind() {
    let topology = r#"version: 1
clusters:
  shard-$(n:03): {for_each: {n: 1..200}, type: replication, servers: {a: {host: "a$(n).db"}, b: {host: "b$(n).db"}}}
  billing: {type: single, servers: {a: {host: billing.db}}}
users:
  app: {password: {env: APP}, cluster: shard-001, schema: app}
shard_maps:
  tenants:
    applies_to: {users: [app]}
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    shards:
      t$(n:03): {for_each: {n: 1..200}, keys: [$(n)], cluster: "shard-$(n:03)"}
      bill: {keys: [999], cluster: billing}
read_write_policies:
  default: {reads: {all: true}}
"#;
    let tests = "version: 1\nsession: {user: app}\nroute_tests:\n\
        \x20 one: {query: /* tenant=1 */ UPDATE t SET a=1, expect: {cluster: shard-001}}\n";
    let files = [("topology/shop.yaml", topology), ("tests/routes.yaml", tests)];
    let environment = crate::support::project("proxysql-2.7", &files);
    let page = environment.run(["report"]).unwrap().success().stdout;
    let drawing = &page[page.find("<svg").unwrap()..page.find("</svg>").unwrap()];
    for title in [
        "<title>billing writer hostgroup ",
        "<title>shard-001 … shard-200 200 writers</title>",
        "<title>shard-001 … shard-200 200 readers</title>",
    ] {
        assert!(drawing.contains(title), "{title}\n{drawing}");
    }
    assert!(
        drawing.matches("<g class=\"box").count() < 15 && !drawing.contains(" more<"),
        "{drawing}"
    );
    // One row for the map, not one for each shard.
    let coverage = &page[page.find("not reached by a test").unwrap()..page.find("id=\"chains\"").unwrap()];
    assert!(
        coverage.contains("<td>200 shards: bill, t002, t003")
            && coverage.contains(" and 188 more; parts of shard t001; "),
        "{coverage}"
    );
    assert!(coverage.matches("<tr>").count() < 6, "{coverage}");
}

/// What `lint` finds for an engine is what the page shows, of a project as of a file.
#[test]
fn the_page_has_the_findings_of_lint() {
    let codes = |environment: &CommandEnvironment, arguments: &[&str]| {
        let output = environment
            .run([arguments, &["--format", "json"]].concat())
            .unwrap();
        let report: Value = serde_json::from_str(&output.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap();
        let mut codes: Vec<String> = findings
            .iter()
            .map(|finding| finding["code"].as_str().unwrap().to_owned())
            .collect();
        codes.sort();
        codes
    };
    let shown = |environment: &CommandEnvironment, arguments: &[&str]| {
        let page = environment.run(arguments).unwrap().success().stdout;
        let findings = page.split("<article class=\"finding").skip(1);
        let code = |article: &str| article.split("<code>").nth(1).map(|rest| rest[..5].to_owned());
        let mut codes: Vec<String> = findings.filter_map(code).collect();
        codes.sort();
        codes
    };
    let project = example("legacy-rules");
    let arguments = ["--engine", "proxysql-2.7"];
    let linted = codes(&project, &[&["lint"], &arguments[..]].concat());
    assert!(linted.len() > 5, "{linted:?}");
    assert_eq!(shown(&project, &[&["report"], &arguments[..]].concat()), linted);
    let file = with_rules();
    assert_eq!(
        shown(&file, &["report", "rules.sql"]),
        codes(&file, &["lint", "rules.sql"])
    );
}

/// On a telephone as on a wide screen nothing stands outside of the window, and what is wider scrolls by itself.
#[test]
fn the_page_fits_its_window() {
    let environment = example("legacy-rules");
    let page = environment
        .run(["report", "--engine", "proxysql-2.7"])
        .unwrap()
        .success()
        .stdout;
    // Chromium has no window narrower than 500 px; a frame has.
    let frame = page.replace('&', "&amp;").replace('"', "&quot;");
    for width in [420, 1280] {
        let measured = format!(
            "<iframe id=\"f\" style=\"width:{width}px;height:2000px;border:0\" srcdoc=\"{frame}\"></iframe><script>\
             const f=document.getElementById('f');f.onload=()=>{{const d=f.contentDocument;\
             const wide=d.documentElement.clientWidth;\
             const out=[...d.querySelectorAll('nav a, h1, .tile, .finding')].filter(e=>e.getBoundingClientRect().right>wide);\
             document.title=`fits ${{d.documentElement.scrollWidth<=wide}}, ${{out.length}} outside`}};</script>"
        );
        let dom = shown(&environment, &measured);
        assert!(
            dom.contains("<title>fits true, 0 outside</title>"),
            "{width}: {}",
            &dom[..dom.len().min(300)]
        );
    }
}

/// The page's script runs: rows are counted, searched and sorted by it.
#[test]
fn a_browser_shows_the_page() {
    let environment = with_rules();
    let page = environment.run(["report", "rules.sql"]).unwrap().success().stdout;
    // A search as a person would type it, made by the page's own events.
    let typed = "<script>const s=document.getElementById('search');s.value='for update';\
        s.dispatchEvent(new Event('input'));</script></body>";
    let dom = shown(&environment, &page.replace("</body>", typed));
    assert!(dom.contains("1 of 2"), "{dom}");
    assert_eq!(dom.matches("<tr hidden=\"\">").count(), 1, "{dom}");
}

/// What a browser has made of a page once it is loaded.
fn shown(environment: &CommandEnvironment, page: &str) -> String {
    let browser = Path::new("/usr/bin/chromium");
    assert!(
        browser.exists(),
        "scripts/install-test-packages installs chromium"
    );
    environment.write("report.html", page).unwrap();
    let output = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1400,2100",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            environment.outside("browser").display()
        ))
        .arg(format!(
            "file://{}",
            environment.project().join("report.html").display()
        ))
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
