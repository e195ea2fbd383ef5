//! `replace_pattern`: what an engine writes for a match, its failures included.

use crate::dialect::{Captures, Dialect};

/// What is written for a match.
pub(crate) struct Replacement<'r> {
    /// With `\1` for what the first group matched.
    pub(crate) text: &'r [u8],
    /// Whose rules hold for it.
    pub(crate) dialect: Dialect,
    /// Capturing groups of the pattern.
    pub(crate) groups: usize,
    /// Every match is replaced, not only the first.
    pub(crate) global: bool,
}

impl Replacement<'_> {
    /// Replaces in `text` what `captures_at` finds from an offset on; `None` if the engine gives up.
    pub(crate) fn rewrite(
        &self,
        text: &[u8],
        captures_at: impl Fn(&[u8], usize) -> Option<Captures>,
    ) -> Option<Vec<u8>> {
        if self.is_re2() && highest_group(self.text) > self.groups {
            return None;
        }
        if self.global {
            self.every(text, captures_at)
        } else {
            self.first(text, &captures_at(text, 0)?)
        }
    }

    fn is_re2(&self) -> bool {
        self.dialect == Dialect::Re2
    }

    fn first(&self, text: &[u8], captures: &Captures) -> Option<Vec<u8>> {
        let whole = captures.first()?.clone()?;
        let mut out = text[..whole.start].to_vec();
        if !self.expand(&mut out, text, captures) {
            return None;
        }
        out.extend_from_slice(&text[whole.end..]);
        Some(out)
    }

    /// A replacement that fails half-way keeps what it has written: neither engine looks at the failure here.
    fn every(&self, text: &[u8], captures_at: impl Fn(&[u8], usize) -> Option<Captures>) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        let (mut copied, mut from) = (0, 0);
        let mut last_end = None;
        let mut replaced = false;
        while from <= text.len() {
            let Some(captures) = captures_at(text, from) else {
                break;
            };
            let Some(whole) = captures.first().cloned().flatten() else {
                break;
            };
            // RE2 lets no empty match stand directly behind a match; PCRE lets it stand behind a match that took bytes.
            let repeated = whole.is_empty() && self.is_re2() && last_end == Some(whole.end);
            if !repeated {
                out.extend_from_slice(&text[copied..whole.start]);
                self.expand(&mut out, text, &captures);
                copied = whole.end;
                replaced = true;
            }
            last_end = Some(whole.end);
            from = if whole.is_empty() {
                whole.end + 1
            } else {
                whole.end
            };
        }
        out.extend_from_slice(&text[copied..]);
        replaced.then_some(out)
    }

    /// Appends the replacement; false where the engine stops: what was written before stays in `out`.
    fn expand(&self, out: &mut Vec<u8>, text: &[u8], captures: &Captures) -> bool {
        let matched = captures
            .iter()
            .rposition(Option::is_some)
            .map_or(0, |last| last + 1);
        let known = if self.is_re2() { captures.len() } else { matched };
        let mut bytes = self.text.iter().copied();
        while let Some(byte) = bytes.next() {
            if byte != b'\\' {
                out.push(byte);
                continue;
            }
            match bytes.next() {
                Some(digit @ b'0'..=b'9') => {
                    let group = usize::from(digit - b'0');
                    if group >= known {
                        return false;
                    }
                    if let Some(Some(range)) = captures.get(group) {
                        out.extend_from_slice(&text[range.clone()]);
                    }
                }
                Some(b'\\') => out.push(b'\\'),
                _ => return false,
            }
        }
        true
    }
}

fn highest_group(replacement: &[u8]) -> usize {
    let mut highest = 0;
    let mut bytes = replacement.iter();
    while let Some(byte) = bytes.next() {
        if *byte == b'\\'
            && let Some(digit @ b'0'..=b'9') = bytes.next()
        {
            highest = highest.max(usize::from(digit - b'0'));
        }
    }
    highest
}
