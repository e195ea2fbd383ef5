//! Settings of `pxc_scheduler_handler` and `percona-scheduler-admin`, of all versions.

use super::super::fields::Known;

const CHECKS: &str =
    "when pxc_scheduler_handler takes a server out and puts it back: it goes on to read this itself";
const CHOOSES: &str =
    "which server pxc_scheduler_handler chooses as the writer: it goes on to read this itself";
const PERSISTS: &str = "pxc_scheduler_handler gives a new writer the weight and limits of the former one: after a failover, \
                        `diff` shows them";
const CERTIFICATES: &str =
    "certificates with which pxc_scheduler_handler itself connects to the servers: ProxySQL has its own";
const LOCKS: &str = "how several pxc_scheduler_handler keep out of each other's way";
const OLD: &str = "deprecated: pxc_scheduler_handler computes it from configHgRange";
const UNUSED: &str = "pxc_scheduler_handler does not use it";
const REACHES: &str =
    "how pxc_scheduler_handler reaches ProxySQL; for applies, write a target in shardwright.yaml";
const RUNS: &str = "how pxc_scheduler_handler runs and what it logs";
const ACCOUNT: &str = "the account of percona-scheduler-admin itself, which is no user of the proxy";
const STARTS: &str = "how often ProxySQL starts pxc_scheduler_handler: a row of the table scheduler, which is no part of a project";

pub(super) const KNOWN: [Known; 68] = [
    ("pxccluster.hgW", None),
    ("pxccluster.hgR", None),
    ("pxccluster.configHgRange", None),
    ("pxccluster.maintenanceHgRange", None),
    ("pxccluster.singlePrimary", None),
    ("pxccluster.maxNumWriters", None),
    ("pxccluster.writerIsAlsoReader", None),
    ("pxccluster.failBack", None),
    ("pxccluster.activeFailover", Some(CHOOSES)),
    ("pxccluster.mainSegment", Some(CHOOSES)),
    ("pxccluster.persistPrimarySettings", Some(PERSISTS)),
    ("pxccluster.retryUp", Some(CHECKS)),
    ("pxccluster.retryDown", Some(CHECKS)),
    ("pxccluster.checkTimeOut", Some(CHECKS)),
    ("pxccluster.pingTimeout", Some(CHECKS)),
    ("pxccluster.sslClient", Some(CERTIFICATES)),
    ("pxccluster.sslKey", Some(CERTIFICATES)),
    ("pxccluster.sslCa", Some(CERTIFICATES)),
    ("pxccluster.sslCertificatePath", Some(CERTIFICATES)),
    ("pxccluster.sslCertificate_path", Some(CERTIFICATES)),
    ("pxccluster.clusterId", Some(LOCKS)),
    ("pxccluster.bckHgW", Some(OLD)),
    ("pxccluster.bckHgR", Some(OLD)),
    ("pxccluster.debug", Some(UNUSED)),
    ("pxccluster.development", Some(UNUSED)),
    ("pxccluster.developmentTime", Some(UNUSED)),
    ("pxccluster.host", Some(UNUSED)),
    ("pxccluster.port", Some(UNUSED)),
    ("pxccluster.user", Some(UNUSED)),
    ("pxccluster.password", Some(UNUSED)),
    ("pxccluster.logDir", Some(UNUSED)),
    ("pxccluster.logLevel", Some(UNUSED)),
    ("pxccluster.OS", Some(UNUSED)),
    ("pxccluster.singleWriter", Some(UNUSED)),
    ("pxccluster.maxWriters", Some(UNUSED)),
    ("proxysql.host", Some(REACHES)),
    ("proxysql.port", Some(REACHES)),
    ("proxysql.user", Some(REACHES)),
    ("proxysql.password", Some(REACHES)),
    ("proxysql.pingTimeout", Some(REACHES)),
    ("proxysql.clustered", Some(LOCKS)),
    ("proxysql.lockFilePath", Some(LOCKS)),
    ("proxysql.initialized", Some(UNUSED)),
    ("proxysql.respectManualOfflineSoft", Some(CHECKS)),
    ("global.logLevel", Some(RUNS)),
    ("global.logTarget", Some(RUNS)),
    ("global.logFile", Some(RUNS)),
    ("global.daemonize", Some(RUNS)),
    ("global.daemonInterval", Some(RUNS)),
    ("global.performance", Some(RUNS)),
    ("global.debug", Some(UNUSED)),
    ("global.OS", Some(UNUSED)),
    ("global.development", Some(UNUSED)),
    ("global.devInterval", Some(UNUSED)),
    ("global.lockFileTimeout", Some(LOCKS)),
    ("global.lockClusterTimeout", Some(LOCKS)),
    ("global.lockRefreshTime", Some(LOCKS)),
    ("setup.clusterHost", None),
    ("setup.clusterPort", None),
    ("setup.clusterUser", Some(ACCOUNT)),
    ("setup.clusterUserPassword", Some(ACCOUNT)),
    ("setup.clusterAppUser", None),
    ("setup.clusterAppUserPassword", None),
    ("setup.monitorUser", None),
    ("setup.monitorUserPassword", None),
    ("setup.useSSL", None),
    ("setup.maxConnections", None),
    ("setup.nodeCheckInterval", Some(STARTS)),
];
