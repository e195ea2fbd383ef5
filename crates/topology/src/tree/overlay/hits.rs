//! Patches must change something: objects that are not there and values that are there already are errors.

use std::borrow::Cow;
use std::convert::Infallible;

use rustc_hash::FxHashSet;
use shardwright_diagnostics::{Diagnostic, did_you_mean};
use shardwright_documents::Node;

use crate::codes::{IDLE_PATCH, PATCH_MISSES};
use crate::reporter::Reporter;
use crate::tree::context::Context;
use crate::tree::environment::Environment;
use crate::tree::objects::instances;
use crate::tree::patch::Patch;
use crate::tree::view::View;

/// Names that are remembered for a "did you mean".
const MAX_REMEMBERED: usize = 10_000;

/// Reports the addresses of `patch` that hit nothing in `base`, or change nothing. Problems of `base` itself go to
/// `scratch`.
pub(crate) fn check_hits(
    patch: &Patch,
    base: Option<&View<'_>>,
    scratch: &mut Context<'_>,
    report: &mut Reporter,
) {
    let target = Target {
        base,
        address: String::new(),
        environment: &Environment::default(),
    };
    Check { report }.below(patch, &target, scratch);
}

/// What a patch is laid over.
struct Target<'p, 'b> {
    /// What is there already.
    base: Option<&'p View<'b>>,
    address: String,
    environment: &'p Environment,
}

struct Check<'r> {
    report: &'r mut Reporter,
}

impl Check<'_> {
    fn below(&mut self, patch: &Patch, target: &Target<'_, '_>, scratch: &mut Context<'_>) {
        if patch.is_empty() {
            return;
        }
        if patch.holds_objects() {
            return self.objects(patch, target, scratch);
        }
        for child in patch.children() {
            let field = target.base.and_then(|base| base.get(&child.key().text));
            let value = field.map(|field| field.value);
            let inner = Target {
                base: value.as_ref(),
                address: join(&target.address, child),
                environment: target.environment,
            };
            self.one(child, &inner, scratch);
        }
    }

    fn one(&mut self, patch: &Patch, target: &Target<'_, '_>, scratch: &mut Context<'_>) {
        let Some(value) = patch.value() else {
            return self.below(patch, target, scratch);
        };
        let Some(base) = target.base else {
            if patch.removes() {
                self.misses(patch, target, Err(None));
            }
            return;
        };
        if patch.removes() {
            return;
        }
        if same(base, &View::of(value), target.environment, scratch) {
            let message = format!("the patch of `{}` changes nothing", target.address);
            let diagnostic = Diagnostic::error(IDLE_PATCH, message)
                .at(patch.key().span, "")
                .also(base.span(), "this is already the value")
                .help("delete the patch");
            self.report.push(target.environment.mark(diagnostic));
        }
    }

    fn objects(&mut self, patch: &Patch, target: &Target<'_, '_>, scratch: &mut Context<'_>) {
        let mut names: FxHashSet<String> = FxHashSet::default();
        let mut hit: FxHashSet<&str> = FxHashSet::default();
        if let Some(base) = target.base {
            let Ok(()) = instances(base, target.environment, scratch, |instance, scratch| {
                if let Some(child) = patch.child(&instance.name) {
                    hit.insert(&child.key().text);
                    let inner = Target {
                        base: Some(&instance.field.value),
                        address: join(&target.address, child),
                        environment: instance.environment,
                    };
                    self.one(child, &inner, scratch);
                } else if names.len() < MAX_REMEMBERED {
                    names.insert(instance.name.into_owned());
                }
                Ok::<(), Infallible>(())
            });
        }
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        names.sort_unstable();
        for child in patch.children().filter(|child| !hit.contains(&*child.key().text)) {
            let inner = Target {
                base: None,
                address: join(&target.address, child),
                environment: target.environment,
            };
            let near = did_you_mean(&child.key().text, names.iter().copied());
            let help = (!child.removes()).then(|| {
                format!(
                    "a patch changes existing objects; to add one, set `{}` as a whole",
                    target.address
                )
            });
            self.misses(child, &inner, near.ok_or(help));
        }
    }

    /// A patch of what is not there; `near` is a name that is, or else what to do.
    fn misses(&mut self, patch: &Patch, target: &Target<'_, '_>, near: Result<&str, Option<String>>) {
        let message = format!("the patch hits nothing: there is no `{}`", target.address);
        let diagnostic = Diagnostic::error(PATCH_MISSES, message).at(patch.key().span, "");
        let diagnostic = match near {
            Ok(near) => diagnostic.did_you_mean(Some(near)),
            Err(Some(help)) => diagnostic.help(help),
            Err(None) => diagnostic,
        };
        self.report.push(target.environment.mark(diagnostic));
    }
}

fn join(address: &str, child: &Patch) -> String {
    if address.is_empty() {
        child.key().text.to_string()
    } else {
        format!("{address}.{}", child.key().text)
    }
}

/// Whether two values are the same, templates expanded; the order of keys has no meaning.
fn same(a: &View<'_>, b: &View<'_>, environment: &Environment, scratch: &mut Context<'_>) -> bool {
    if a.is_map() != b.is_map() {
        return false;
    }
    if a.is_map() {
        let fields = a.fields();
        return fields.len() == b.fields().len()
            && fields.iter().all(|field| {
                b.get(&field.key.text)
                    .is_some_and(|other| same(&field.value, &other.value, environment, scratch))
            });
    }
    let (Some(a), Some(b)) = (a.node(), b.node()) else {
        return false;
    };
    match (a.as_sequence(), b.as_sequence()) {
        (Some(a), Some(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| same(&View::of(a), &View::of(b), environment, scratch))
        }
        (None, None) => same_scalar(a, b, environment, scratch),
        _ => false,
    }
}

fn same_scalar(a: &Node, b: &Node, environment: &Environment, scratch: &mut Context<'_>) -> bool {
    let mut text = |node: &Node| scratch.expand_node(node, environment).map(Cow::into_owned);
    let texts = (text(a), text(b));
    // Numbers may be templates, which are texts.
    a.is_null() == b.is_null() && matches!(texts, (Some(a), Some(b)) if a == b)
}
