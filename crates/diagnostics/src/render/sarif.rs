//! SARIF 2.1.0, the format of code scanning services (OASIS standard, errata 01).

use serde_json::{Map, Value, json};

use crate::{Applicability, CodeDoc, Finding, Location, Report, Severity, Tool};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// One log with one run, indented, with a final line end.
#[must_use]
pub fn write(report: &Report, tool: Tool<'_>) -> String {
    let rules = rules(report, tool.pages);
    let results: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| result(finding, &rules))
        .collect();
    let described: Vec<Value> = rules.iter().map(|rule| described(rule)).collect();
    let mut invocation = json!({"executionSuccessful": report.failure.is_none()});
    if let Some(ending) = report.ending {
        invocation["exitCode"] = json!(ending.code);
        invocation["exitCodeDescription"] = json!(ending.meaning);
    }
    if let Some(failure) = &report.failure {
        invocation["toolExecutionNotifications"] = json!([{"level": "error", "message": {"text": failure}}]);
    }
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "shardwright",
                "version": tool.version,
                "rules": described,
            }},
            "automationDetails": {"id": format!("shardwright/{}/", tool.command)},
            "invocations": [invocation],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

/// A code of the report, with its page where there is one.
struct Rule<'a> {
    code: &'static str,
    page: Option<&'a CodeDoc>,
}

/// The codes of the report, each once, in order.
fn rules<'a>(report: &Report, pages: &'a [CodeDoc]) -> Vec<Rule<'a>> {
    let mut codes: Vec<_> = report.findings.iter().map(|finding| finding.code).collect();
    codes.sort();
    codes.dedup();
    codes
        .into_iter()
        .map(|code| Rule {
            code: code.as_str(),
            page: pages.iter().find(|page| page.code == code),
        })
        .collect()
}

fn described(rule: &Rule<'_>) -> Value {
    let mut described = json!({"id": rule.code});
    if let Some(page) = rule.page {
        described["shortDescription"] = json!({"text": page.title});
        described["help"] = json!({"text": page.page, "markdown": page.page});
    }
    described
}

fn result(finding: &Finding, rules: &[Rule<'_>]) -> Value {
    let mut result = json!({
        "ruleId": finding.code,
        "level": match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "note",
        },
        "message": {"text": finding.text()},
    });
    if let Ok(index) = rules.binary_search_by(|rule| rule.code.cmp(finding.code.as_str())) {
        result["ruleIndex"] = json!(index);
    }
    let mut shown = Map::new();
    if let Some(location) = &finding.location {
        shown.insert("physicalLocation".to_owned(), physical(location));
        if !finding.label.is_empty() {
            shown.insert("message".to_owned(), json!({"text": finding.label}));
        }
    }
    if let Some(address) = &finding.address {
        shown.insert(
            "logicalLocations".to_owned(),
            json!([{"fullyQualifiedName": address, "kind": "object"}]),
        );
    }
    if !shown.is_empty() {
        result["locations"] = json!([shown]);
    }
    if !finding.related.is_empty() {
        let related = finding.related.iter().enumerate().map(|(id, (location, text))| {
            let mut shown = json!({"id": id, "physicalLocation": physical(location)});
            if !text.is_empty() {
                shown["message"] = json!({"text": text});
            }
            shown
        });
        result["relatedLocations"] = related.collect();
    }
    if let Some(fix) = fix(finding) {
        result["fixes"] = json!([fix]);
    }
    let properties = properties(finding);
    if !properties.is_empty() {
        result["properties"] = Value::Object(properties);
    }
    result
}

fn physical(location: &Location) -> Value {
    json!({
        "artifactLocation": {"uri": uri(&location.path)},
        "region": region(location),
    })
}

fn region(location: &Location) -> Value {
    json!({
        "startLine": location.start.line,
        "startColumn": location.start.column,
        "endLine": location.end.line,
        "endColumn": location.end.column,
    })
}

/// A path as a URI reference (RFC 3986): what is not allowed in a path, and the colon that would look like a scheme, in
/// per cent signs.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

fn fix(finding: &Finding) -> Option<Value> {
    let fix = finding.fix.as_ref().filter(|fix| !fix.edits.is_empty())?;
    let mut changes: Vec<(&str, Vec<Value>)> = Vec::new();
    for (location, text) in &fix.edits {
        let replacement = json!({"deletedRegion": region(location), "insertedContent": {"text": text}});
        match changes.iter_mut().find(|(path, _)| *path == location.path) {
            Some((_, replacements)) => replacements.push(replacement),
            None => changes.push((&location.path, vec![replacement])),
        }
    }
    let changes: Vec<Value> = changes
        .into_iter()
        .map(|(path, replacements)| json!({"artifactLocation": {"uri": uri(path)}, "replacements": replacements}))
        .collect();
    let description = match fix.applicability {
        Applicability::Safe => "safe: proved not to change where statements go",
        Applicability::Unsafe => "unsafe: changes where statements go, or may lose something",
    };
    Some(json!({"description": {"text": description}, "artifactChanges": changes}))
}

fn properties(finding: &Finding) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut set = |name: &str, value: Value| properties.insert(name.to_owned(), value);
    if let Some(proof) = finding.proof {
        set("proof", json!(proof));
    }
    if let Some(instance) = &finding.instance {
        set("instance", json!(instance));
        set("moreInstances", json!(finding.more_instances));
    }
    if !finding.rule_ids.is_empty() {
        set("ruleIds", json!(finding.rule_ids));
    }
    if let Some(witness) = &finding.witness {
        set("witness", json!(witness));
    }
    properties
}
