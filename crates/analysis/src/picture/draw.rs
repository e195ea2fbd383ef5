//! Pictures as text: a human-readable tree, Graphviz, Mermaid.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Chain, Edge, Node, Picture};

/// Chains in the order in which they are entered from chain 0, each once, with where it leads.
#[must_use]
pub fn tree(picture: &Picture) -> String {
    let mut out = String::new();
    let mut shown = BTreeSet::new();
    let mut open: Vec<(u32, usize)> = vec![(0, 0)];
    while let Some((flag, depth)) = open.pop() {
        if !shown.insert(flag) {
            continue;
        }
        let indent = "  ".repeat(depth.min(20));
        let Some(chain) = picture.chains.iter().find(|chain| chain.flag == flag) else {
            line(&mut out, &format!("{indent}chain {flag}: no rules"));
            continue;
        };
        line(&mut out, &format!("{indent}{}", heading(chain)));
        let mut inner = Vec::new();
        for edge in picture.edges_of(flag) {
            line(&mut out, &format!("{indent}  {}", leads(picture, edge)));
            if let Node::Chain(next) = edge.to {
                inner.push((next, depth + 1));
            }
        }
        open.extend(inner.into_iter().rev());
    }
    for chain in picture.chains.iter().filter(|chain| !shown.contains(&chain.flag)) {
        line(&mut out, &format!("{}  (no jump enters it)", heading(chain)));
        for edge in picture.edges_of(chain.flag) {
            line(&mut out, &format!("  {}", leads(picture, edge)));
        }
    }
    if picture.fast_routing > 0 {
        line(&mut out, &format!("fast routing: {} rows", picture.fast_routing));
    }
    out
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn heading(chain: &Chain) -> String {
    let worst = chain
        .worst_evaluations
        .map(|worst| format!(", at most {worst} evaluated from here"))
        .unwrap_or_default();
    let from = match chain.address.as_str() {
        "" => String::new(),
        address => format!("   # {address}"),
    };
    format!(
        "chain {}: {}, {}{worst}{from}",
        chain.flag,
        counted(chain.rules, "rule"),
        counted(chain.patterns as usize, "pattern")
    )
}

fn leads(picture: &Picture, edge: &Edge) -> String {
    let by = match edge.rules {
        0 => "nothing matches".to_owned(),
        1 => format!("rule {}", edge.first),
        rules => format!("{rules} from rule {}", edge.first),
    };
    format!("{by} → {}", picture.name(edge.to))
}

/// The picture for Graphviz.
#[must_use]
pub fn dot(picture: &Picture) -> String {
    let mut out = String::new();
    line(&mut out, "digraph rules {");
    line(
        &mut out,
        "  rankdir=LR; node [shape=box, fontname=\"Helvetica\"]; edge [fontname=\"Helvetica\"];",
    );
    for chain in &picture.chains {
        let label = format!(
            "chain {}\\n{}\\n{}",
            chain.flag,
            counted(chain.rules, "rule"),
            chain.address
        );
        line(
            &mut out,
            &format!(
                "  {} [label={}, style=filled, fillcolor=\"#e8eefc\"];",
                id(Node::Chain(chain.flag)),
                quoted(&label)
            ),
        );
    }
    for exit in &picture.exits {
        line(
            &mut out,
            &format!(
                "  {} [label={}, shape=ellipse];",
                id(exit.node),
                quoted(&exit.name)
            ),
        );
    }
    for edge in &picture.edges {
        let label = match edge.rules {
            0 | 1 => String::new(),
            rules => format!(" [label=\"{rules}\"]"),
        };
        let style = if edge.rules == 0 { " [style=dashed]" } else { "" };
        line(
            &mut out,
            &format!(
                "  {} -> {}{label}{style};",
                id(Node::Chain(edge.from)),
                id(edge.to)
            ),
        );
    }
    line(&mut out, "}");
    out
}

/// The picture for Mermaid, which GitHub and GitLab draw in Markdown.
#[must_use]
pub fn mermaid(picture: &Picture) -> String {
    let mut out = String::new();
    line(&mut out, "flowchart LR");
    let plain = |text: &str| text.replace(['"', '<', '>'], "'");
    for chain in &picture.chains {
        let label = format!(
            "chain {}<br/>{}<br/>{}",
            chain.flag,
            counted(chain.rules, "rule"),
            plain(&chain.address)
        );
        line(
            &mut out,
            &format!("  {}[\"{label}\"]", id(Node::Chain(chain.flag))),
        );
    }
    for exit in &picture.exits {
        line(
            &mut out,
            &format!("  {}([\"{}\"])", id(exit.node), plain(&exit.name)),
        );
    }
    for edge in &picture.edges {
        let (from, to) = (id(Node::Chain(edge.from)), id(edge.to));
        line(
            &mut out,
            &match edge.rules {
                0 => format!("  {from} -.-> {to}"),
                1 => format!("  {from} --> {to}"),
                rules => format!("  {from} -->|{rules}| {to}"),
            },
        );
    }
    out
}

fn id(node: Node) -> String {
    match node {
        Node::Chain(flag) => format!("c{flag}"),
        Node::Hostgroup(id) => format!("h{id}"),
        Node::Refused => "refused".to_owned(),
        Node::Answered => "answered".to_owned(),
        Node::Default => "fallthrough".to_owned(),
    }
}

/// A string of Graphviz; `\n` in it stays a line break.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\\\""))
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a String does not fail");
}
