//! The pages whose examples are whole topologies: the first shows the finding, the second has put it right.

use shardwright_topology::CODES;

#[test]
fn whole_examples_show_their_finding_and_how_to_put_it_right() {
    let mut wrong = Vec::new();
    let mut checked = 0;
    for doc in CODES {
        let examples: Vec<&str> = doc
            .page
            .split("```yaml\n")
            .skip(1)
            .filter_map(|rest| rest.split("```").next())
            .filter(|example| example.starts_with("version: 1\nclusters:"))
            .collect();
        if examples.is_empty() {
            continue;
        }
        checked += 1;
        if examples.len() != 2 {
            wrong.push(format!("{}: not two examples", doc.code));
        }
        for (example, shows) in examples.into_iter().zip([true, false]) {
            let problems = crate::support::load_text("page", example).problems;
            if problems.sorted().iter().any(|problem| problem.code == doc.code) != shows {
                wrong.push(format!("{} in\n{example}\n{problems:#?}", doc.code));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked >= 3, "{checked} pages have whole examples");
}
