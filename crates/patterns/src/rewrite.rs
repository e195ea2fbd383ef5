//! `replace_pattern`: what an engine writes for a match, its failures included.

use crate::pattern::{Captures, Dialect, Pattern};

/// Replaces the first match, or every match, of `pattern` in `text`; `None` if the engine gives up.
pub(crate) fn rewrite(pattern: &Pattern, text: &[u8], replacement: &[u8], global: bool) -> Option<Vec<u8>> {
    let re2 = pattern.dialect() == Dialect::Re2;
    if re2 && highest_group(replacement) > pattern.groups() {
        return None;
    }
    if global {
        every(pattern, text, replacement, re2)
    } else {
        first(pattern, text, replacement, re2)
    }
}

fn first(pattern: &Pattern, text: &[u8], replacement: &[u8], re2: bool) -> Option<Vec<u8>> {
    let captures = pattern.captures_at(text, 0)?;
    let whole = captures.first()?.clone()?;
    let mut out = text[..whole.start].to_vec();
    if !expand(&mut out, text, replacement, &captures, re2) {
        return None;
    }
    out.extend_from_slice(&text[whole.end..]);
    Some(out)
}

/// A replacement that fails half-way keeps what it has written: neither engine looks at the failure here.
fn every(pattern: &Pattern, text: &[u8], replacement: &[u8], re2: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let (mut copied, mut from) = (0, 0);
    let mut last_end = None;
    let mut replaced = false;
    while from <= text.len() {
        let Some(captures) = pattern.captures_at(text, from) else {
            break;
        };
        let Some(whole) = captures.first().cloned().flatten() else {
            break;
        };
        // RE2 lets no empty match stand directly behind a match; PCRE lets it stand behind a match that took bytes.
        let repeated = whole.is_empty() && re2 && last_end == Some(whole.end);
        if !repeated {
            out.extend_from_slice(&text[copied..whole.start]);
            expand(&mut out, text, replacement, &captures, re2);
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

/// Appends `replacement`; false where the engine stops: what was written before stays in `out`.
fn expand(out: &mut Vec<u8>, text: &[u8], replacement: &[u8], captures: &Captures, re2: bool) -> bool {
    let matched = captures
        .iter()
        .rposition(Option::is_some)
        .map_or(0, |last| last + 1);
    let known = if re2 { captures.len() } else { matched };
    let mut bytes = replacement.iter().copied();
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
