//! The page: its parts, one after the other, between a style and a script of its own.

use std::collections::BTreeMap;

use shardwright_analysis::picture::Picture;
use shardwright_diagnostics::{Diagnostic, NoteKind, Proof, Severity};
use shardwright_rules::{Address, MemberStatus};

use super::{coverage, picture, rules};
use crate::page::{Frame, escaped, put, section, severity};
use crate::rule_set::RuleSet;

/// Findings that are shown; the rest are counted.
const MAX_FINDINGS: usize = 500;

/// The whole page. The same bytes for the same rule set.
pub(super) fn page(set: &RuleSet, picture: &Picture, findings: &[&Diagnostic]) -> String {
    let title = match set.name.as_str() {
        "." => "Rule set".to_owned(),
        name => name.to_owned(),
    };
    let covered = coverage::body(set);
    let parts = [
        tiles(set, picture, findings),
        section("graph", "Where statements go", &picture::drawing(picture)),
        section("findings", "Findings", &list_of_findings(set, findings)),
        covered.as_deref().map_or_else(String::new, |body| {
            section("coverage", "What route tests reach", body)
        }),
        section("chains", "Chains and what they cost", &chains(picture)),
        section("rules", "Rules", &rules::table(set, findings)),
        section("hostgroups", "Hostgroups and servers", &hostgroups(set)),
    ];
    let configuration = &set.configuration;
    let link = if covered.is_some() {
        "<a href=\"#coverage\">Tests</a>"
    } else {
        ""
    };
    Frame {
        title: &title,
        about: format!(
            "for {} · configuration <code>{}</code>",
            escaped(configuration.engine.name()),
            &configuration.fingerprint()[..12]
        ),
        links: format!(
            "<a href=\"#graph\">Graph</a><a href=\"#findings\">Findings</a>{link}<a href=\"#chains\">Chains</a>\
             <a href=\"#rules\">Rules</a><a href=\"#hostgroups\">Servers</a>"
        ),
        body: parts.concat(),
    }
    .page()
}

fn tiles(set: &RuleSet, picture: &Picture, findings: &[&Diagnostic]) -> String {
    let configuration = &set.configuration;
    let worst = picture
        .worst_evaluations
        .map_or("–".to_owned(), |worst| worst.to_string());
    let grave = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .count();
    let tone = match (grave, findings.is_empty()) {
        (0, true) => "good",
        (0, false) => "fair",
        _ => "bad",
    };
    let tile = |value: &str, name: &str, tone: &str| {
        format!("<div class=\"tile {tone}\"><b>{value}</b><span>{name}</span></div>")
    };
    format!(
        "<div class=\"tiles\">{}{}{}{}{}{}</div>\n",
        tile(&configuration.graph.rules.len().to_string(), "rules", ""),
        tile(&picture.chains.len().to_string(), "chains", ""),
        tile(&configuration.hostgroups.len().to_string(), "hostgroups", ""),
        tile(&configuration.server_count().to_string(), "servers", ""),
        tile(&worst, "patterns evaluated at most", ""),
        tile(&findings.len().to_string(), "findings", tone),
    )
}

fn list_of_findings(set: &RuleSet, findings: &[&Diagnostic]) -> String {
    if findings.is_empty() {
        return "<p class=\"empty\">Nothing was found.</p>\n".to_owned();
    }
    let mut ordered: Vec<&Diagnostic> = findings.to_vec();
    ordered.sort_by_key(|finding| finding.severity);
    let mut counts: BTreeMap<Severity, usize> = BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.severity).or_default() += 1;
    }
    let mut out = String::from("<div class=\"bar\" data-filter=\"finding\">");
    for (level, count) in counts {
        let name = severity(level);
        put(
            &mut out,
            &format!(
                "<label class=\"{name}\"><input type=\"checkbox\" value=\"{name}\" checked> {count} {name}</label>"
            ),
        );
    }
    out.push_str("</div>\n");
    for finding in ordered.iter().take(MAX_FINDINGS) {
        put(&mut out, &one_finding(set, finding));
    }
    if ordered.len() > MAX_FINDINGS {
        put(
            &mut out,
            &format!(
                "<p class=\"quiet\">and {} more</p>\n",
                ordered.len() - MAX_FINDINGS
            ),
        );
    }
    out
}

fn one_finding(set: &RuleSet, finding: &Diagnostic) -> String {
    let level = severity(finding.severity);
    let proof = match finding.proof {
        Some(Proof::Proved) => " · proved",
        Some(Proof::Witnessed) => " · shown by a statement",
        Some(Proof::Possible) => " · possible",
        None => "",
    };
    let line = set.line_of(finding).map(|(file, line)| format!("{file}:{line}"));
    let object = finding
        .address
        .as_deref()
        .map(|address| Address::from(address).short());
    let place = match (object, line) {
        (Some(object), Some(line)) => format!("{object} ({line})"),
        (object, line) => object.or(line).unwrap_or_default(),
    };
    let mut lines = String::new();
    if let Some(witness) = &finding.witness {
        let schema = match witness.schema.as_str() {
            "" => String::new(),
            schema => format!(" schema={}", escaped(schema)),
        };
        put(
            &mut lines,
            &format!(
                "<pre><span class=\"quiet\">user={}{schema}</span>  {}</pre>",
                escaped(&witness.user),
                escaped(&witness.query)
            ),
        );
    }
    for note in &finding.notes {
        let text = escaped(&note.text);
        let line = match note.kind {
            // The witness is shown above, and the page has no shell.
            NoteKind::Example | NoteKind::More => continue,
            NoteKind::Help => format!("<p><b>What to do</b> {text}</p>"),
            NoteKind::Note => format!("<p class=\"quiet\">{text}</p>"),
            kind => format!("<p class=\"quiet\">{}: {text}</p>", kind.name()),
        };
        put(&mut lines, &line);
    }
    format!(
        "<article class=\"finding {level}\" data-level=\"{level}\"><h3><code>{}</code> {}</h3>\
         <p class=\"quiet\">{level}{proof}{}</p>{lines}</article>\n",
        finding.code,
        escaped(&finding.message),
        match place.as_str() {
            "" => String::new(),
            place => format!(" · {}", escaped(place)),
        }
    )
}

fn chains(picture: &Picture) -> String {
    let most = picture
        .chains
        .iter()
        .filter_map(|chain| chain.worst_evaluations)
        .max()
        .unwrap_or(0)
        .max(1);
    let mut out = String::from(
        "<div class=\"wide\"><table class=\"sortable\"><thead><tr><th>chain</th><th>from</th><th class=\"n\">rules</th><th class=\"n\">patterns</th>\
         <th class=\"n\">evaluated at most from here</th><th>leads to</th></tr></thead><tbody>\n",
    );
    for chain in &picture.chains {
        let worst = chain.worst_evaluations.unwrap_or(0);
        let mut leads: Vec<String> = picture
            .edges_of(chain.flag)
            .take(5)
            .map(|edge| picture.name(edge.to))
            .collect();
        let more = picture.edges_of(chain.flag).count().saturating_sub(leads.len());
        if more > 0 {
            leads.push(format!("{more} more"));
        }
        put(
            &mut out,
            &format!(
                "<tr><td class=\"n\">{}</td><td class=\"name\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
                 <td class=\"n meter\" data-value=\"{worst}\"><span style=\"width:{}%\"></span>{}</td><td>{}</td></tr>\n",
                chain.flag,
                escaped(&chain.address),
                chain.rules,
                chain.patterns,
                u64::from(worst) * 65 / u64::from(most),
                chain
                    .worst_evaluations
                    .map_or("–".to_owned(), |worst| worst.to_string()),
                escaped(&leads.join(", ")),
            ),
        );
    }
    out.push_str("</tbody></table></div>\n");
    out
}

fn hostgroups(set: &RuleSet) -> String {
    let configuration = &set.configuration;
    let mut out = String::from(
        "<div class=\"wide\"><table class=\"sortable\"><thead><tr><th class=\"n\">hostgroup</th><th>cluster</th><th>role</th><th>server</th>\
         <th>status</th><th class=\"n\">weight</th><th class=\"n\">connections</th></tr></thead><tbody>\n",
    );
    for hostgroup in &configuration.hostgroups {
        let cluster = configuration
            .cluster_of(hostgroup.id)
            .map_or("", |cluster| &cluster.name);
        if hostgroup.members.is_empty() {
            put(
                &mut out,
                &format!(
                    "<tr class=\"warning\"><td class=\"n\">{}</td><td>{}</td><td>{}</td><td colspan=\"4\">no server</td></tr>\n",
                    hostgroup.id,
                    escaped(cluster),
                    hostgroup.role
                ),
            );
        }
        for member in &hostgroup.members {
            let status = match member.status {
                MemberStatus::Online => "online",
                MemberStatus::Draining => "draining",
                MemberStatus::Offline => "offline",
            };
            put(
                &mut out,
                &format!(
                    "<tr><td class=\"n\">{}</td><td>{}</td><td>{}</td><td>{}:{}</td><td><span class=\"dot {status}\"></span>{status}</td>\
                     <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                    hostgroup.id,
                    escaped(cluster),
                    hostgroup.role,
                    escaped(&member.host),
                    member.port,
                    member.weight,
                    member.max_connections
                ),
            );
        }
    }
    for hostgroup in &configuration.refusing {
        put(
            &mut out,
            &format!(
                "<tr><td class=\"n\">{}</td><td colspan=\"2\">refuses: {}</td><td>{}:{}</td><td colspan=\"3\"></td></tr>\n",
                hostgroup.id,
                escaped(&hostgroup.reason),
                escaped(&hostgroup.host),
                hostgroup.port
            ),
        );
    }
    out.push_str("</tbody></table></div>\n");
    out
}
