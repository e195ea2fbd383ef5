//! What connections ask beyond sysbench's own scripts.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{Load, TABLE_SIZE};
use crate::BenchError;

/// An event is one statement of its kind; one that connects does so for each event.
const SCRIPT: &str = r#"
sysbench.cmdline.options = {
  kind = {"What an event asks", "tenant"},
  keys = {"Keys of shards", 1},
  rows = {"Rows of a result", 1},
}
local kinds = {}
function kinds.tenant()
  con:query(string.format("/* tenant=%d */ SELECT c FROM sbtest1 WHERE id=%d",
    sysbench.rand.uniform(1, sysbench.opt.keys), sysbench.rand.uniform(1, TABLE_SIZE)))
end
function kinds.result()
  con:query("SELECT REPEAT('x', 200) FROM seq_1_to_" .. sysbench.opt.rows)
end
function kinds.bulk()
  con:query(bulk)
end
function kinds.connect()
  local con = drv:connect()
  con:query("SELECT c FROM sbtest1 WHERE id=" .. sysbench.rand.uniform(1, TABLE_SIZE))
  con:disconnect()
end
function thread_init()
  drv = sysbench.sql.driver()
  if sysbench.opt.kind ~= "connect" then con = drv:connect() end
  if sysbench.opt.kind == "bulk" then
    local row = "('" .. string.rep("x", 100) .. "')"
    bulk = "INSERT INTO bulk (c) VALUES " .. string.rep(row .. ", ", sysbench.opt.rows - 1) .. row
  end
end
function event()
  kinds[sysbench.opt.kind]()
end
"#;

/// The script as a file; it goes with the value.
#[derive(Debug)]
pub struct Scripts {
    directory: TempDir,
}

impl Scripts {
    /// Writes it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new() -> Result<Self, BenchError> {
        let failed = || BenchError::io("the script of sysbench");
        let directory = TempDir::with_prefix("sw-sysbench-").map_err(failed())?;
        let script = SCRIPT.replace("TABLE_SIZE", &TABLE_SIZE.to_string());
        fs::write(directory.path().join("load.lua"), script).map_err(failed())?;
        Ok(Self { directory })
    }

    /// Point selects with one of the keys 1 to `keys` in a comment, each as often.
    #[must_use]
    pub fn tenants(&self, keys: u32) -> Load {
        self.load(&["--kind=tenant", &format!("--keys={keys}")])
    }

    /// Results of so many rows with 200 bytes each, which the server makes without a table.
    #[must_use]
    pub fn results(&self, rows: u32) -> Load {
        self.load(&["--kind=result", &format!("--rows={rows}")])
    }

    /// Inserts of so many rows each into the table `bulk`, which has a column `c` and a key of its own.
    #[must_use]
    pub fn bulk_inserts(&self, rows: u32) -> Load {
        self.load(&["--kind=bulk", &format!("--rows={rows}")])
    }

    /// A new connection for each point select.
    #[must_use]
    pub fn connects(&self) -> Load {
        self.load(&["--kind=connect"])
    }

    fn load(&self, arguments: &[&str]) -> Load {
        Load::script(&self.path(), arguments.iter().copied())
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("load.lua")
    }
}
