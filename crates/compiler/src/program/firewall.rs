//! The firewall: allowed digests by user. Flags and schemas are known once rules are numbered.

use std::collections::BTreeSet;

use shardwright_rules::{Address, EngineId, FirewallMode, digest_hash};
use shardwright_topology::model::{self as model, Allowed, OriginId, Topology};

use super::{RawBlock, Section};
use crate::diagnostics::{Diagnostics, SupportedBy, UNSUPPORTED, Unsupported};
use crate::program::effects::Effect;

/// What one user may send.
#[derive(Clone, Debug)]
pub(crate) struct UserFirewall {
    /// Where it was written.
    pub origin: OriginId,
    /// `firewall.NAME`
    pub address: Address,
    /// The name that the user logs in with.
    pub user: String,
    /// What happens to other statements.
    pub mode: FirewallMode,
    /// Allowed digests.
    pub digests: BTreeSet<u64>,
    /// Further session schemas.
    pub schemas: BTreeSet<String>,
    /// Whether the schemas that the topology gives the user are allowed, too.
    pub own_schemas: bool,
    /// Whether statements pass where chains of raw rules end that have flags of their own.
    pub raw_chains: bool,
}

/// Every user's, by user; nothing for an engine that cannot, which is reported.
pub(super) fn users(topology: &Topology, report: &mut Diagnostics<'_>) -> Vec<UserFirewall> {
    let mut users = Vec::new();
    for firewall in &topology.firewall {
        if report.engine == EngineId::Bundled {
            if firewall.mode != FirewallMode::Disabled {
                let choice = firewall.on_unsupported.without_approximation();
                let lacking = Unsupported {
                    origin: firewall.origin,
                    field: "mode",
                    what: "limit the statements of a user",
                    lost: "this user may send every statement",
                    who: SupportedBy::Proxysql,
                };
                report.on_unsupported(choice, lacking);
            }
            continue;
        }
        let login = topology
            .users
            .get_named(&firewall.name)
            .map(|user| user.login.to_string());
        users.push(user(firewall, login, report));
    }
    users.sort_by(|a, b| a.user.cmp(&b.user));
    users
}

fn user(firewall: &model::Firewall, login: Option<String>, report: &Diagnostics<'_>) -> UserFirewall {
    let digest = |allowed: &Allowed| match allowed {
        Allowed::Digest(digest) => *digest,
        Allowed::Statement(text) => digest_hash(text.as_bytes()),
    };
    UserFirewall {
        origin: firewall.origin,
        address: report.address(firewall.origin),
        user: login.unwrap_or_else(|| firewall.name.to_string()),
        mode: firewall.mode,
        digests: firewall.allow.iter().map(digest).collect(),
        schemas: firewall.schemas.iter().map(ToString::to_string).collect(),
        own_schemas: firewall.own_schemas,
        raw_chains: firewall.raw_chains,
    }
}

/// Reports mirrors beside a firewall, for engines that the first copy ends. Mirrors that their file gives up are left out.
pub(super) fn refuse_mirrors(
    effects: &mut Vec<Section<Effect>>,
    blocks: &[RawBlock],
    report: &mut Diagnostics<'_>,
) {
    if !report.engine.profile().firewalled_mirror_ends_engine {
        return;
    }
    let what =
        "mirror statements beside a firewall, whose check of the first copy ends the engine (signal 6)";
    effects.retain(|section| {
        let is_mirror = matches!(section.step, Effect::Mirror { .. });
        if is_mirror {
            let choice = section.on_unsupported.without_approximation();
            let lacking = Unsupported {
                origin: section.origin,
                field: "",
                what,
                lost: "no copy is sent",
                who: SupportedBy::When("remove the mirror, or the section `firewall`"),
            };
            report.on_unsupported(choice, lacking);
        }
        !is_mirror
    });
    for row in blocks.iter().flat_map(|block| &block.rules) {
        let fields = [
            ("mirror_hostgroup", row.rule.mirror_hostgroup),
            ("mirror_flagOUT", row.rule.mirror_flag_out),
        ];
        if let Some((field, _)) = fields.into_iter().find(|(_, value)| value.is_some()) {
            let engine = report.engine;
            let message = format!("{engine} cannot {what}: remove the column, or the section `firewall`");
            report.error(UNSUPPORTED, row.origin, field, message);
        }
    }
}
