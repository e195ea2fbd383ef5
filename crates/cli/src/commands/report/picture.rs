//! The rule graph drawn: chains in the columns in which statements reach them, and the destinations at the right.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_analysis::picture::{Node, Picture};
use shardwright_diagnostics::shortened;

use super::hostgroups::{self, Group};
use crate::page::{escaped, put};
use crate::ui::counted;

/// Chains that are drawn one by one; where there are more, those that came from one object are one box.
const MAX_CHAINS: usize = 30;
/// Boxes of a column, so that a column fits a screen. Hostgroups are one box for each kind where there are more, and
/// other boxes that do not fit are one box.
const MAX_COLUMN: usize = 12;
const BOX: Size = Size {
    width: 190,
    height: 44,
};
const GAP: Size = Size {
    width: 110,
    height: 16,
};

struct Size {
    width: i32,
    height: i32,
}

/// The upper left corner of a box.
struct Point {
    x: i32,
    y: i32,
}

/// What is drawn as a box.
#[derive(Clone, Debug, Default)]
struct Drawn {
    title: String,
    detail: String,
    kind: &'static str,
    column: usize,
    row: usize,
}

/// Boxes and lines, by key.
#[derive(Default)]
struct Graph {
    boxes: BTreeMap<String, Drawn>,
    lines: BTreeMap<(String, String), usize>,
}

/// The picture as SVG.
pub(super) fn drawing(picture: &Picture) -> String {
    let whole = picture.chains.len() <= MAX_CHAINS;
    let hostgroups = picture.exits.iter().filter_map(|exit| match exit.node {
        Node::Hostgroup(id) => Some((id, exit.name.as_str())),
        _ => None,
    });
    let hostgroups = hostgroups::grouped(hostgroups, MAX_COLUMN);
    let mut graph = boxes(picture, whole, &hostgroups);
    columns(&mut graph);
    rows(&mut graph);
    let mut together = Vec::new();
    if !whole {
        together.push("Chains that came from one object are one box.");
    }
    if hostgroups.values().any(|group| group.count > 1) {
        together
            .push("Hostgroups of one kind are one box; <a href=\"#hostgroups\">the table</a> lists each.");
    }
    let note = match together.is_empty() {
        true => String::new(),
        false => format!("<p class=\"quiet\">{}</p>\n", together.join(" ")),
    };
    format!("{}{note}", svg(&graph))
}

fn boxes(picture: &Picture, whole: bool, hostgroups: &BTreeMap<u32, Group>) -> Graph {
    let mut graph = Graph::default();
    let group: BTreeMap<u32, &str> = picture
        .chains
        .iter()
        .map(|chain| (chain.flag, chain.address.as_str()))
        .collect();
    let key = |node: Node| match node {
        Node::Chain(0) => "c0".to_owned(),
        Node::Chain(flag) if whole => format!("c{flag}"),
        Node::Chain(flag) => format!("g{}", group.get(&flag).copied().unwrap_or("?")),
        Node::Hostgroup(id) => match hostgroups.get(&id) {
            // Writers and readers of the same clusters have one title.
            Some(group) => format!("{} {}", group.title, group.detail),
            None => picture.name(node),
        },
        other => picture.name(other),
    };
    let mut grouped: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for chain in &picture.chains {
        let counts = grouped.entry(key(Node::Chain(chain.flag))).or_default();
        counts.0 += 1;
        counts.1 += chain.rules;
        graph.boxes.insert(
            key(Node::Chain(chain.flag)),
            Drawn {
                title: match chain.address.as_str() {
                    // An origin that all rows of a file share is no information.
                    "" | "mysql_query_rules" => format!("chain {}", chain.flag),
                    address => address.to_owned(),
                },
                detail: match chain.address.as_str() {
                    "" | "mysql_query_rules" => counted(chain.rules, "rule"),
                    _ => format!("chain {} · {}", chain.flag, counted(chain.rules, "rule")),
                },
                kind: if chain.flag == 0 { "start" } else { "chain" },
                ..Drawn::default()
            },
        );
    }
    for (key, (chains, rules)) in grouped {
        if let Some(drawn) = graph.boxes.get_mut(&key).filter(|_| chains > 1) {
            drawn.detail = format!("{chains} chains · {}", counted(rules, "rule"));
        }
    }
    for exit in &picture.exits {
        let (title, detail) = match exit.node {
            Node::Hostgroup(id) if let Some(group) = hostgroups.get(&id) => {
                (group.title.clone(), group.detail.clone())
            }
            _ => (exit.name.clone(), String::new()),
        };
        let kind = match exit.node {
            Node::Refused => "refused",
            _ => "place",
        };
        graph.boxes.insert(
            key(exit.node),
            Drawn {
                title,
                detail,
                kind,
                ..Drawn::default()
            },
        );
    }
    for edge in &picture.edges {
        let (from, to) = (key(Node::Chain(edge.from)), key(edge.to));
        if let Node::Chain(flag) = edge.to {
            // A jump to a chain without rules.
            graph.boxes.entry(to.clone()).or_insert_with(|| Drawn {
                title: format!("chain {flag}"),
                detail: "no rules".to_owned(),
                kind: "refused",
                ..Drawn::default()
            });
        }
        if from != to {
            *graph.lines.entry((from, to)).or_default() += edge.rules;
        }
    }
    graph
}

/// A chain is one column after the first that leads to it; destinations are after all chains.
fn columns(graph: &mut Graph) {
    let mut depth: BTreeMap<String, usize> = BTreeMap::from([("c0".to_owned(), 0)]);
    let mut open = vec!["c0".to_owned()];
    let mut at = 0;
    while let Some(from) = open.get(at).cloned() {
        at += 1;
        let next = depth[&from] + 1;
        for (_, to) in graph.lines.keys().filter(|(begin, _)| *begin == from) {
            if !depth.contains_key(to) {
                depth.insert(to.clone(), next);
                open.push(to.clone());
            }
        }
    }
    let is_chain = |drawn: &Drawn| matches!(drawn.kind, "start" | "chain");
    let chains = graph.boxes.iter().filter(|(_, drawn)| is_chain(drawn));
    let last = chains
        .map(|(key, _)| depth.get(key).copied().unwrap_or(1))
        .max()
        .unwrap_or(0);
    for (key, drawn) in &mut graph.boxes {
        drawn.column = if is_chain(drawn) {
            depth.get(key).copied().unwrap_or(1)
        } else {
            last + 1
        };
    }
}

/// Boxes of a column in the order of the boxes that lead to them, so that lines cross less.
fn rows(graph: &mut Graph) {
    let last = graph.boxes.values().map(|drawn| drawn.column).max().unwrap_or(0);
    for column in 0..=last {
        let mut keys: Vec<(u64, String)> = graph
            .boxes
            .iter()
            .filter(|(_, drawn)| drawn.column == column)
            .map(|(key, _)| {
                let before: Vec<u64> = graph
                    .lines
                    .keys()
                    .filter(|(_, to)| to == key)
                    .filter_map(|(from, _)| graph.boxes.get(from))
                    .filter(|from| from.column < column)
                    .map(|from| from.row as u64)
                    .collect();
                let sum: u64 = before.iter().sum();
                (sum * 1000 / before.len().max(1) as u64, key.clone())
            })
            .collect();
        keys.sort();
        let hidden: BTreeSet<String> = keys.iter().skip(MAX_COLUMN).map(|(_, key)| key.clone()).collect();
        for (row, (_, key)) in keys.iter().enumerate() {
            if let Some(drawn) = graph.boxes.get_mut(key) {
                drawn.row = row.min(MAX_COLUMN);
            }
        }
        if !hidden.is_empty() {
            fold(graph, &hidden, column);
        }
    }
}

/// Puts the boxes without room into one.
fn fold(graph: &mut Graph, hidden: &BTreeSet<String>, column: usize) {
    let key = format!("more{column}");
    for hidden in hidden {
        graph.boxes.remove(hidden);
    }
    graph.boxes.insert(
        key.clone(),
        Drawn {
            title: format!("{} more", hidden.len()),
            detail: String::new(),
            kind: "place",
            column,
            row: MAX_COLUMN,
        },
    );
    let lines = std::mem::take(&mut graph.lines);
    for ((from, to), count) in lines {
        let folded = |end: String| if hidden.contains(&end) { key.clone() } else { end };
        *graph.lines.entry((folded(from), folded(to))).or_default() += count;
    }
}

fn position(drawn: &Drawn, heights: &BTreeMap<usize, usize>) -> Point {
    let most = heights.values().copied().max().unwrap_or(1);
    let own = heights.get(&drawn.column).copied().unwrap_or(1);
    let step = BOX.height + GAP.height;
    let lead = (most - own) as i32 * step / 2;
    Point {
        x: 16 + drawn.column as i32 * (BOX.width + GAP.width),
        y: 16 + lead + drawn.row as i32 * step,
    }
}

fn svg(graph: &Graph) -> String {
    let mut heights: BTreeMap<usize, usize> = BTreeMap::new();
    for drawn in graph.boxes.values() {
        let height = heights.entry(drawn.column).or_default();
        *height = (*height).max(drawn.row + 1);
    }
    let columns = heights.keys().max().copied().unwrap_or(0) as i32 + 1;
    let rows = heights.values().copied().max().unwrap_or(1) as i32;
    let width = 32 + columns * BOX.width + (columns - 1) * GAP.width;
    let height = 32 + rows * BOX.height + (rows - 1) * GAP.height;
    let mut out = format!(
        "<div class=\"drawing\"><svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"Chains of rules and where they lead\">\n"
    );
    for ((from, to), count) in &graph.lines {
        let (Some(begin), Some(end)) = (graph.boxes.get(from), graph.boxes.get(to)) else {
            continue;
        };
        put(&mut out, &line(begin, end, *count, &heights));
    }
    for drawn in graph.boxes.values() {
        let Point { x, y } = position(drawn, &heights);
        let middle = if drawn.detail.is_empty() { 27 } else { 19 };
        put(
            &mut out,
            &format!(
                "<g class=\"box {}\"><title>{title} {detail}</title><rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"8\"/>\
                 <text x=\"{tx}\" y=\"{}\">{}</text><text class=\"detail\" x=\"{tx}\" y=\"{}\">{}</text></g>\n",
                drawn.kind,
                BOX.width,
                BOX.height,
                y + middle,
                escaped(&shortened(&drawn.title, 23)),
                y + 35,
                escaped(&shortened(&drawn.detail, 28)),
                title = escaped(&drawn.title),
                detail = escaped(&drawn.detail),
                tx = x + 12,
            ),
        );
    }
    out.push_str("</svg></div>\n");
    out
}

/// A line from the right side of a box to the left side of another; one that leads back goes below.
fn line(from: &Drawn, to: &Drawn, count: usize, heights: &BTreeMap<usize, usize>) -> String {
    let (begin, end) = (position(from, heights), position(to, heights));
    let (x1, y1) = (begin.x + BOX.width, begin.y + BOX.height / 2);
    let (x2, y2) = (end.x, end.y + BOX.height / 2);
    let class = if count == 0 { "line idle" } else { "line" };
    let bend = if to.column > from.column {
        (x2 - x1) / 2
    } else {
        90
    };
    let wide = match count {
        0 | 1 => 1.2,
        2..=9 => 1.8,
        10..=99 => 2.6,
        _ => 3.6,
    };
    format!(
        "<path class=\"{class}\" style=\"stroke-width:{wide}\" d=\"M{x1} {y1} C{} {y1} {} {y2} {x2} {y2}\"><title>{}</title></path>\n",
        x1 + bend,
        x2 - bend,
        counted(count, "rule")
    )
}
