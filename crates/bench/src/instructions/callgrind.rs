//! Callgrind's output file (the manual's "Callgrind Format Specification").
//!
//! ```text
//! ob=(1) /bin/proxy    a program or library begins
//! fn=(1) main          a function begins; later lines say fn=(1)
//! 0x16 400             the instruction at 0x16 ran 400 times
//! +3 400               and the one at 0x19
//! cfn=(2) work         the next call leads there
//! calls=1 0x50         once
//! * 700                from 0x19, and took 700 with all that it called
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Bytes of a line of a cache.
const LINE: u64 = 64;
/// Bytes of a page of memory.
const PAGE: u64 = 4096;

/// Functions that hand out memory, as the allocator of the program names its entry points.
const ALLOCATES: [&str; 8] = [
    "mi_malloc",
    "mi_malloc_aligned",
    "mi_zalloc",
    "mi_zalloc_aligned",
    "mi_realloc",
    "mi_realloc_aligned",
    "malloc",
    "realloc",
];

/// Instructions of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Costs {
    pub(super) own: f64,
    /// With all that it calls, but for calls to itself.
    pub(super) inclusive: f64,
}

/// What one run has counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Profile {
    /// Of the whole process.
    pub(super) total: u64,
    functions: BTreeMap<String, Costs>,
    /// How often the instruction at an address of a program or library has run.
    runs: BTreeMap<(String, u64), u64>,
    /// Calls from elsewhere to functions that hand out memory.
    allocations: u64,
}

/// What a statement takes.
#[derive(Clone, Debug)]
pub(super) struct PerStatement {
    pub(super) total: f64,
    pub(super) allocations: f64,
    /// Lines of a cache in which instructions begin that most statements run.
    pub(super) code_lines: usize,
    /// Pages of memory that those lines are on.
    pub(super) code_pages: usize,
    functions: Vec<(String, Costs)>,
}

impl Profile {
    /// Reads a file of one event; `None` if it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader::default();
        for line in text.lines() {
            reader.line(line)?;
        }
        let Reader { profile, .. } = reader;
        (profile.total > 0 && !profile.functions.is_empty()).then_some(profile)
    }
}

#[derive(Default)]
struct Reader {
    profile: Profile,
    /// Names by their numbers.
    names: HashMap<String, String>,
    objects: HashMap<String, String>,
    object: String,
    /// Of the last line of costs.
    address: u64,
    function: String,
    called: String,
    /// The next line of costs is that of a call.
    is_call: bool,
}

impl Reader {
    fn line(&mut self, line: &str) -> Option<()> {
        if let Some(name) = line.strip_prefix("fn=") {
            self.function = named(&mut self.names, name)?;
        } else if let Some(name) = line.strip_prefix("cfn=") {
            self.called = named(&mut self.names, name)?;
        } else if let Some(name) = line.strip_prefix("ob=") {
            self.object = named(&mut self.objects, name)?;
        } else if let Some(name) = line.strip_prefix("cob=") {
            named(&mut self.objects, name)?;
        } else if let Some(call) = line.strip_prefix("calls=") {
            let count: u64 = call.split_whitespace().next()?.parse().ok()?;
            self.is_call = true;
            let hands_out = |name: &str| ALLOCATES.contains(&name);
            if hands_out(&self.called) && !hands_out(&self.function) {
                self.profile.allocations += count;
            }
        } else if let Some(total) = line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")) {
            self.profile.total = total.trim().parse().ok()?;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let mut words = line.split_whitespace();
            self.address = position(words.next()?, self.address)?;
            self.cost(words.next().map_or(Some(0), |cost| cost.parse().ok())?);
        }
        Some(())
    }

    fn cost(&mut self, cost: u64) {
        let is_call = std::mem::take(&mut self.is_call);
        if !is_call {
            let place = (self.object.clone(), self.address);
            *self.profile.runs.entry(place).or_default() += cost;
        }
        let cost = cost as f64;
        let costs = self.profile.functions.entry(self.function.clone()).or_default();
        if !is_call {
            costs.own += cost;
        }
        if !is_call || self.called != self.function {
            costs.inclusive += cost;
        }
    }
}

/// `(7) name` names a number, `(7)` means what it was named.
fn named(names: &mut HashMap<String, String>, text: &str) -> Option<String> {
    let (number, name) = text.split_once(')')?;
    let name = name.trim();
    if name.is_empty() {
        return names.get(number).cloned();
    }
    names.insert(number.to_owned(), name.to_owned());
    Some(name.to_owned())
}

/// `0x16` is a position, `+3` and `-3` are so far from the last one, and `*` is the same.
fn position(text: &str, last: u64) -> Option<u64> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    match text.split_at_checked(1)? {
        ("*", "") => Some(last),
        ("+", distance) => last.checked_add(number(distance)?),
        ("-", distance) => last.checked_sub(number(distance)?),
        _ => number(text),
    }
}

impl PerStatement {
    /// What `many` has beyond `few`, for each of so many statements.
    pub(super) fn between(few: &Profile, many: &Profile, statements: u32) -> Self {
        let each = |many: f64, few: f64| (many - few) / f64::from(statements);
        let function = |(name, costs): (&String, &Costs)| {
            let before = few.functions.get(name).copied().unwrap_or_default();
            let costs = Costs {
                own: each(costs.own, before.own),
                inclusive: each(costs.inclusive, before.inclusive),
            };
            (name.clone(), costs)
        };
        let lines: BTreeSet<(&str, u64)> = many
            .runs
            .iter()
            .filter(|&(place, runs)| {
                let before = few.runs.get(place).copied().unwrap_or_default();
                each(*runs as f64, before as f64) >= 0.5
            })
            .map(|((object, address), _)| (object.as_str(), address / LINE))
            .collect();
        let pages: BTreeSet<(&str, u64)> = lines
            .iter()
            .map(|(object, line)| (*object, line * LINE / PAGE))
            .collect();
        Self {
            total: each(many.total as f64, few.total as f64),
            allocations: each(many.allocations as f64, few.allocations as f64),
            code_lines: lines.len(),
            code_pages: pages.len(),
            functions: many.functions.iter().map(function).collect(),
        }
    }

    /// The dearest with all that they call, of those whose names hold `word`: what runs a program calls everything.
    pub(super) fn by_inclusive(&self, most: usize, word: &str) -> Vec<(&str, Costs)> {
        self.dearest(most, word, |costs| costs.inclusive)
    }

    /// The dearest by themselves.
    pub(super) fn by_own(&self, most: usize) -> Vec<(&str, Costs)> {
        self.dearest(most, "", |costs| costs.own)
    }

    fn dearest(&self, most: usize, word: &str, by: fn(&Costs) -> f64) -> Vec<(&str, Costs)> {
        let mut sorted: Vec<(&str, Costs)> = self
            .functions
            .iter()
            .filter(|(name, _)| name.contains(word))
            .map(|(name, costs)| (name.as_str(), *costs))
            .collect();
        sorted.sort_by(|a, b| by(&b.1).total_cmp(&by(&a.1)).then_with(|| a.0.cmp(b.0)));
        sorted.truncate(most);
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `main` runs `work` so often, which allocates twice and calls itself once each time.
    fn file(times: u64) -> String {
        format!(
            "# callgrind format\nversion: 1\npositions: instr\nevents: Ir\n\nob=(1) /bin/proxy\nfl=(1) main.rs\nfn=(1) main\n\
             0x10 400\n+3 20\ncfn=(2) work\ncalls={times} 0x1000\n-3 {}\n\nfn=(2)\n0x1000 {}\ncfn=(2)\n\
             calls={times} 0x1000\n0x1004 {}\ncob=(2) /lib/alloc.so\ncfi=(2) alloc.c\ncfn=(3) mi_malloc_aligned\n\
             calls={} 0x1040\n* {}\n\nob=(2)\nfl=(2)\nfn=(3)\n0x1040 {}\n\
             cfn=(4) mi_malloc\ncalls={} 0x1080\n+0 {}\n\nfn=(4)\n0x1080 {}\n\ntotals: {}\n",
            times * 170,
            times * 100,
            times * 60,
            times * 2,
            times * 70,
            times * 30,
            times * 2,
            times * 40,
            times * 40,
            420 + times * 170,
        )
    }

    #[test]
    fn what_a_statement_takes_is_the_difference() {
        let [few, many] = [10, 110].map(|times| Profile::parse(&file(times)).unwrap());
        assert_eq!(few.total, 2_120);
        let each = PerStatement::between(&few, &many, 100);
        assert_eq!(each.total, 170.0);
        // What one entry point of the allocator asks of another is no second allocation.
        assert_eq!(each.allocations, 2.0);
        // Of the same page of two files; `main` runs once.
        assert_eq!((each.code_lines, each.code_pages), (3, 2));
        let inclusive = each.by_inclusive(3, "");
        let costs = |own, inclusive| Costs { own, inclusive };
        assert_eq!(
            inclusive,
            [
                ("main", costs(0.0, 170.0)),
                ("work", costs(100.0, 170.0)),
                ("mi_malloc_aligned", costs(30.0, 70.0))
            ]
        );
        assert_eq!(each.by_own(1), [("work", costs(100.0, 170.0))]);
        assert_eq!(each.by_inclusive(1, "wor"), [("work", costs(100.0, 170.0))]);
    }

    #[test]
    fn what_is_no_profile_is_told() {
        for text in [
            "",
            "no file\n",
            "events: Ir\nfn=(1)\n1 2\ntotals: 2\n",
            "totals: 5\n",
        ] {
            assert_eq!(Profile::parse(text), None, "{text}");
        }
    }
}
