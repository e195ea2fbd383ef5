//! Whether a condition names the key column, in its subqueries, too.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Ident, Select, Visit, Visitor};

use super::scope::Surveyor;
use crate::work;

impl Surveyor<'_> {
    pub(super) fn note_mention(&mut self, condition: &Expr) {
        let mut mention = Mention {
            surveyor: self,
            found: false,
            assigns: false,
            selects: Vec::new(),
        };
        let _: ControlFlow<()> = condition.visit(&mut mention);
        let Mention {
            found,
            assigns,
            selects,
            ..
        } = mention;
        self.noted.extend(selects);
        self.finding.condition_mentions_key |= found;
        if assigns {
            self.problem("a condition sets a variable, also for rows of other keys");
        }
    }
}

struct Mention<'s, 'r> {
    surveyor: &'s Surveyor<'r>,
    found: bool,
    /// It has a `:=`.
    assigns: bool,
    /// The queries inside.
    selects: Vec<*const Select>,
}

impl Visitor for Mention<'_, '_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.selects.push(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_ident(&mut self, ident: &Ident) -> ControlFlow<()> {
        work::count(1);
        self.found |= self.surveyor.is_key(ident);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        self.assigns |= matches!(
            expression,
            Expr::BinaryOp {
                op: BinaryOperator::Assignment,
                ..
            }
        );
        ControlFlow::Continue(())
    }
}
