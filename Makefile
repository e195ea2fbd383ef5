# Everything here works on a fresh Debian 12 machine with a Rust toolchain (rustup reads rust-toolchain.toml).

CARGO ?= cargo
TOOLS := $(CURDIR)/target/tools
DENY_VERSION := 0.20.2
MACHETE_VERSION := 0.9.2
FUZZ_VERSION := 0.13.2

.PHONY: help demo release profile test check fmt deny machete bench long fuzz packages

help: ## This list.
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

demo: ## Build, and show a topology becoming routed statements; needs no database.
	$(CARGO) build --profile demo --locked --package shardwright
	target/demo/shardwright demo $(ARGS)

release: ## Build the program as it is released, with the profile of its work; prints where it is.
	$(CARGO) xtask release

profile: packages ## Make that profile anew, after a change of what runs for every statement: two builds, and load.
	$(CARGO) xtask profile

test: packages check ## Install what tests need, then run the checks and every test.
	$(CARGO) test --workspace --locked --no-fail-fast

check: fmt deny machete ## Format, lints, licences, advisories, unused crates, the repository's own rules.
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) xtask check

fmt:
	$(CARGO) fmt --all --check

deny: $(TOOLS)/cargo-deny-$(DENY_VERSION) ## Licences, banned and duplicate crates, sources, known vulnerabilities.
	PATH="$(TOOLS)/bin:$$PATH" scripts/deny

machete: $(TOOLS)/cargo-machete-$(MACHETE_VERSION) ## Crates that a manifest names and no source uses.
	$(TOOLS)/bin/cargo-machete --skip-target-dir

$(TOOLS)/cargo-deny-$(DENY_VERSION):
	$(call install-tool,cargo-deny,$(DENY_VERSION))

$(TOOLS)/cargo-machete-$(MACHETE_VERSION):
	$(call install-tool,cargo-machete,$(MACHETE_VERSION))

$(TOOLS)/cargo-fuzz-$(FUZZ_VERSION):
	$(call install-tool,cargo-fuzz,$(FUZZ_VERSION))

# Unoptimised: a tool runs for seconds and would take minutes more to build. The target is a mark with the version, so
# that another version is installed when it changes here.
define install-tool
env -u CARGO_BUILD_BUILD_DIR CARGO_TARGET_DIR=$(TOOLS)/build \
	$(CARGO) install --locked --debug --quiet --force --root $(TOOLS) --version $(2) $(1)
rm -rf $(TOOLS)/build
touch $@
endef

bench: packages ## Measure; tables on the terminal, raw figures in docs/benchmarks/.
	$(CARGO) xtask bench $(ARGS)

long: packages ## The tests with many more cases (hours; with PROXYSQL_BIN against a real ProxySQL too).
	scripts/install-test-clients all
	PROPTEST_CASES=20000 SHARDWRIGHT_CONFORMANCE=1000000 CONFORMANCE_RULE_SETS=5000 \
		SHARDWRIGHT_CLIENTS=all SHARDWRIGHT_CROWD=10000 SHARDWRIGHT_SOAK=1200 SHARDWRIGHT_TRIALS=20 \
		SHARDWRIGHT_CAUSAL_TRIALS=5000 SHARDWRIGHT_KEY_VALUES=1000000 SHARDWRIGHT_QUESTIONS=1000000 \
		SHARDWRIGHT_TRANSACTIONS=50000 \
		SHARDWRIGHT_SHIFTS=100 SHARDWRIGHT_EQUAL_READERS=3600 SHARDWRIGHT_KILLS=1000 SHARDWRIGHT_FAULTS=1 SHARDWRIGHT_PINS=5000000 \
		$(CARGO) test --release --workspace --locked --no-fail-fast
	SHARDWRIGHT_LAG_TRIALS=10 $(CARGO) test --release --locked --package shardwright-proxy --test it -- \
		--test-threads=1 --nocapture lag_trials::durable throttle_signals
	scripts/install-mysql
	SHARDWRIGHT_MYSQLD=$(CURDIR)/target/mysql/mysqld SHARDWRIGHT_CLIENTS=all \
		$(CARGO) test --release --locked --package shardwright --test clients -- --skip what_passes
	SHARDWRIGHT_MYSQLD=$(CURDIR)/target/mysql/mysqld \
		SHARDWRIGHT_KEY_VALUES=1000000 \
		$(CARGO) test --release --locked --package shardwright-proxy --test it -- --test-threads=1 on_mysql
	SHARDWRIGHT_MYSQLD=$(CURDIR)/target/mysql/mysqld SHARDWRIGHT_QUESTIONS=1000000 \
		$(CARGO) test --release --locked --package shardwright-proxy --test it -- --nocapture questions::
	SHARDWRIGHT_MYSQLD=$(CURDIR)/target/mysql/mysqld \
		$(CARGO) test --release --locked --package shardwright --test it -- sync_users::on_mysql
	SHARDWRIGHT_MYSQLD=$(CURDIR)/target/mysql/mysqld SHARDWRIGHT_PINS=1000000 \
		$(CARGO) test --release --locked --package shardwright-sql --test it -- pins

fuzz: $(TOOLS)/cargo-fuzz-$(FUZZ_VERSION) ## Random inputs: make fuzz TARGET=reader SECONDS=3600; see docs/fuzzing.md.
	PATH="$(TOOLS)/bin:$$PATH" scripts/fuzz $(or $(TARGET),topology) $(or $(SECONDS),3600)

packages:
	scripts/install-test-packages
