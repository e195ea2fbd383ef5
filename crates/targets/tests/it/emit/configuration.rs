//! A configuration that uses every column.

use shardwright_rules::*;

fn member(server: &str, weight: u32, tier: u8, status: MemberStatus) -> Member {
    Member {
        server: format!("clusters.shop.servers.{server}").into(),
        host: format!("{server}.db"),
        port: 3306,
        weight,
        tier,
        max_connections: 400,
        max_replication_lag_s: 5,
        tls: ServerTls::Required,
        status,
    }
}

fn user(name: &str, password: Option<SecretReference>) -> User {
    User {
        name: name.into(),
        address: format!("users.{name}").into(),
        password,
        default_hostgroup: HostgroupId(1000),
        default_schema: None,
        max_connections: 2000,
        transaction_persistent: true,
        annotations_allowed: false,
        reads_only: false,
        statement_timeout_ms: None,
        tls: ClientTls::Optional,
    }
}

fn full_rule() -> EngineRule {
    EngineRule {
        username: Some("app".into()),
        schemaname: Some("shop".into()),
        client_addr: Some("10.1.%".into()),
        proxy_addr: Some("0.0.0.0".into()),
        proxy_port: Some(6033),
        digest: Some(0x4D7D_CFF8_7DD1_A927),
        match_digest: Some("^SELECT".into()),
        match_pattern: Some(r"\btenant='(\d+)'".into()),
        negate_match_pattern: true,
        re_modifiers: Modifiers {
            caseless: false,
            global: true,
        },
        flag_out: None,
        flag_outs: vec![
            FlagOutChoice {
                id: 20_000,
                weight: 3,
            },
            FlagOutChoice {
                id: 20_001,
                weight: 1,
            },
        ],
        replace_pattern: Some(r"\1".into()),
        destination_hostgroup: Some(1001),
        cache_ttl_ms: Some(2000),
        cache_empty_result: Some(false),
        cache_timeout_ms: Some(5),
        reconnect: Some(true),
        sticky_conn: Some(false),
        timeout_ms: Some(0),
        retries: Some(2),
        delay_ms: Some(5),
        next_query_flag_in: Some(7),
        mirror_flag_out: Some(8),
        mirror_hostgroup: Some(9),
        error_msg: Some(String::new()),
        ok_msg: Some("fine".into()),
        multiplex: Some(2),
        gtid_from_hostgroup: Some(1000),
        log: Some(true),
        apply: true,
        comment: None,
    }
}

fn rule(id: u32, address: &str, flag_in: u32, engine: EngineRule) -> Rule {
    Rule {
        id,
        address: address.into(),
        shards: Vec::new(),
        summary: None,
        flag_in,
        body: Body::Engine(Box::new(engine)),
    }
}

pub(crate) fn everything() -> Configuration {
    let cluster = Cluster {
        name: "shop".into(),
        address: "clusters.shop".into(),
        kind: ClusterKind::Replication {
            read_only_check: ReadOnlyCheck::SuperReadOnly,
        },
        writer: HostgroupId(1000),
        reader: Some(HostgroupId(1001)),
        writer_serves_reads: WriterServesReads::Never,
        on_unknown: Default::default(),
        slow_readers: Default::default(),
        roles_by: RolesBy::Engine,
        candidates: Vec::new(),
    };
    let hostgroup = |id, role, members| Hostgroup {
        id: HostgroupId(id),
        cluster: "clusters.shop".into(),
        role,
        members,
    };
    let readers = vec![
        member("s2", 100, 0, MemberStatus::Draining),
        member("s3", 0, 0, MemberStatus::Offline),
        member("s1", 100, 1, MemberStatus::Online),
    ];
    let refusal = EngineRule {
        error_msg: Some("SW352: unknown shard key: shard map tenants has no tenant; don't guess".into()),
        apply: true,
        comment: Some("my own words".into()),
        ..EngineRule::default()
    };
    let mut configuration = Configuration {
        clusters: vec![cluster],
        hostgroups: vec![
            hostgroup(1000, Role::Writer, vec![member("s1", 1, 0, MemberStatus::Online)]),
            hostgroup(1001, Role::Reader, readers),
        ],
        users: vec![
            user("app", Some(SecretReference::Env("APP_PASSWORD".into()))),
            user(
                "batch",
                Some(SecretReference::Command(vec!["vault".into(), "read\nx".into()])),
            ),
            user("open", None),
        ],
        ..Configuration::empty(EngineId::Proxysql27)
    };
    configuration.graph.rules = vec![
        rule(100, "query_rules.legacy.rules[0]", 0, full_rule()),
        rule(100_000, "shard_maps.tenants", 20_000, refusal),
        rule(100_001, "shard_maps.tenants", 20_001, EngineRule::default()),
    ];
    configuration.graph.fast_routing = vec![FastRoute {
        username: String::new(),
        schemaname: "acct_0001".into(),
        flag_in: 0,
        hostgroup: HostgroupId(1000),
        address: "shard_maps.accounts.shards.a0001".into(),
    }];
    configuration
}

/// The columns of the rule of this id.
pub(crate) fn columns_of(configuration: &mut Configuration, id: u32) -> &mut EngineRule {
    let rule = configuration.graph.rules.iter_mut().find(|rule| rule.id == id);
    match &mut rule.unwrap().body {
        Body::Engine(engine) => engine,
        other => panic!("the rules of the fixture are engine rules: {other:?}"),
    }
}
