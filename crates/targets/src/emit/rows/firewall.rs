//! The rows of the firewall: who may send what.

use shardwright_rules::tables::digest_text;
use shardwright_rules::{Configuration, Firewall, FirewallMode};

use super::{Row, Table};
use crate::emit::EmitError;

pub(super) fn rows(configuration: &Configuration, rows: &mut Vec<Row>) -> Result<(), EmitError> {
    for firewall in &configuration.firewall {
        rows.push(firewall_user(firewall)?);
    }
    for firewall in &configuration.firewall {
        firewall_rules(firewall, rows)?;
    }
    Ok(())
}

fn firewall_user(firewall: &Firewall) -> Result<Row, EmitError> {
    let mut row = Row::new(Table::FirewallUsers, &firewall.address);
    row.set("active", true);
    row.set("username", firewall.user.as_str());
    // An empty address is every client's.
    row.set("client_address", "");
    row.set(
        "mode",
        match firewall.mode {
            FirewallMode::Disabled => "OFF",
            FirewallMode::Detecting => "DETECTING",
            FirewallMode::Protecting => "PROTECTING",
        },
    );
    row.set("comment", firewall.address.as_str());
    row.checked()
}

/// The engine compares schema and flag exactly, so each combination is a row.
fn firewall_rules(firewall: &Firewall, rows: &mut Vec<Row>) -> Result<(), EmitError> {
    for schema in &firewall.schemas {
        for flag in &firewall.flags {
            for digest in &firewall.digests {
                let mut row = Row::new(Table::FirewallRules, &firewall.address);
                row.set("active", true);
                row.set("username", firewall.user.as_str());
                row.set("client_address", "");
                row.set("schemaname", schema.as_str());
                row.set("flagIN", *flag);
                row.set("digest", digest_text(*digest).as_str());
                row.set("comment", firewall.address.as_str());
                rows.push(row.checked()?);
            }
        }
    }
    Ok(())
}
