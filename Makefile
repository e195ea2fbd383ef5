# Everything here works on a fresh Debian 12 machine with a Rust toolchain (rustup reads rust-toolchain.toml).

CARGO ?= cargo
TOOLS := $(CURDIR)/target/tools
DENY := $(TOOLS)/bin/cargo-deny
DENY_VERSION := 0.20.2

.PHONY: help demo test check fmt deny bench long packages

help: ## This list.
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

demo: ## Build in release mode and show a topology becoming routed statements; needs no database.
	$(CARGO) build --release --locked --package shardwright
	target/release/shardwright demo $(ARGS)

test: packages check ## Install what tests need, then run the checks and every test.
	$(CARGO) test --workspace --locked --no-fail-fast

check: fmt deny ## Format, lints, licences and advisories, the repository's own rules.
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) xtask check

fmt:
	$(CARGO) fmt --all --check

# Unoptimised: it runs for a second and would take minutes more to build.
$(DENY):
	CARGO_TARGET_DIR=$(TOOLS)/build $(CARGO) install --locked --debug --quiet --root $(TOOLS) --version $(DENY_VERSION) cargo-deny
	rm -rf $(TOOLS)/build

deny: $(DENY) ## Licences, banned and duplicate crates, sources, known vulnerabilities.
	PATH="$(TOOLS)/bin:$$PATH" scripts/deny

bench: ## Measure; tables on the terminal, raw figures in docs/benchmarks/.
	$(CARGO) xtask bench proxy $(ARGS)

long: packages ## The tests with many more cases (an hour).
	PROPTEST_CASES=20000 $(CARGO) test --release --workspace --locked --no-fail-fast

packages:
	scripts/install-test-packages
