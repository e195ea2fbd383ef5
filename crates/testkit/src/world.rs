//! The `world` sample on real servers: one continent per shard, and all of it on an unsharded oracle.

use shardwright_mysqlite::world::World;

use crate::mariadb::MariaDb;

/// The continents of [`three_shards`](crate::three_shards), in order, as in the published cases.
pub const WORLD_SHARDS: [&str; 3] = ["Europe", "Asia", "Africa"];

/// Gives each server its continent twice: in a schema named as the continent (cases that rewrite the schema) and in
/// the schema `world` (cases that choose the server only).
///
/// # Errors
/// The first error a server gives.
pub fn load_world_shards(servers: &[MariaDb; 3]) -> mysql::Result<()> {
    let world = World::sample();
    for (server, continent) in servers.iter().zip(WORLD_SHARDS) {
        for schema in [continent, "world"] {
            server.load_world_part(&world, schema, &[continent])?;
        }
    }
    Ok(())
}

/// Fills the schema `world` of an unsharded server; statements can name `Continent` in both of its tables.
///
/// # Errors
/// The first error the server gives.
pub fn load_world_oracle(server: &MariaDb) -> mysql::Result<()> {
    server.run("CREATE DATABASE world")?;
    server.run(World::sample().unsharded_mariadb_sql("world").join(";\n"))?;
    Ok(())
}

impl MariaDb {
    /// Creates `schema` with the countries of `continents` and their cities.
    ///
    /// # Errors
    /// The first error the server gives.
    pub fn load_world_part(&self, world: &World, schema: &str, continents: &[&str]) -> mysql::Result<()> {
        self.run(format!("CREATE DATABASE `{}`", schema.replace('`', "``")))?;
        self.run(world.shard_sql(schema, continents).join(";\n"))?;
        Ok(())
    }
}
