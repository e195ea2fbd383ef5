//! The examples of the pages: the first shows the finding, the second has put it right.

use shardwright_analysis::{CODES, analyse};

use crate::common::lines;
use shardwright_testkit::configuration;

#[test]
fn every_page_shows_its_finding_and_how_to_put_it_right() {
    let mut wrong = Vec::new();
    for doc in CODES {
        let examples: Vec<&str> = doc
            .page
            .split("```yaml\n")
            .skip(1)
            .filter_map(|rest| rest.split("```").next())
            .collect();
        let title = format!("# {}: {}", doc.code, doc.title);
        if doc.page.lines().next() != Some(title.as_str()) || examples.len() != 2 {
            wrong.push(format!(
                "{}: the page has another title or not two examples",
                doc.code
            ));
            continue;
        }
        for (example, shows) in examples.iter().zip([true, false]) {
            let findings = analyse(&configuration(example));
            if findings.iter().any(|finding| finding.code == doc.code) != shows {
                wrong.push(format!("{} in\n{example}\n{:#?}", doc.code, lines(&findings)));
            }
            // What puts one thing right must not be wrong in another way.
            if !shows
                && findings
                    .iter()
                    .any(|finding| finding.severity == shardwright_diagnostics::Severity::Error)
            {
                wrong.push(format!("{}: the cure has errors\n{:#?}", doc.code, findings));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
