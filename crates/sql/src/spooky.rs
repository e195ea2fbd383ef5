//! SpookyHash V2, the hash behind ProxySQL's digests (algorithm by Bob Jenkins, public domain).

const FILLER: u64 = 0xdead_beef_dead_beef;
const BLOCK: usize = 96;
/// Messages shorter than two blocks take the short path.
const SHORT: usize = 2 * BLOCK;

/// The first 64 of the 128 hash bits of `message`, with both seeds 0.
pub(crate) fn hash64(message: &[u8]) -> u64 {
    if message.len() < SHORT {
        short(message)
    } else {
        long(message)
    }
}

/// Up to eight bytes, the first one lowest.
fn word(bytes: &[u8]) -> u64 {
    if let Ok(whole) = bytes.try_into() {
        return u64::from_le_bytes(whole);
    }
    bytes
        .iter()
        .rev()
        .fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn short(message: &[u8]) -> u64 {
    let mut s = [0, 0, FILLER, FILLER];
    let mut blocks = message.chunks_exact(32);
    for block in &mut blocks {
        absorb(&mut s, &block[..16]);
        s[0] = s[0].wrapping_add(word(&block[16..24]));
        s[1] = s[1].wrapping_add(word(&block[24..]));
    }
    let mut rest = blocks.remainder();
    if rest.len() >= 16 {
        absorb(&mut s, &rest[..16]);
        rest = &rest[16..];
    }
    s[3] = s[3].wrapping_add((message.len() as u64) << 56);
    if rest.is_empty() {
        s[2] = s[2].wrapping_add(FILLER);
        s[3] = s[3].wrapping_add(FILLER);
    } else {
        s[2] = s[2].wrapping_add(word(&rest[..rest.len().min(8)]));
        s[3] = s[3].wrapping_add(word(rest.get(8..).unwrap_or_default()));
    }
    short_end(s)
}

fn absorb(s: &mut [u64; 4], half: &[u8]) {
    let [mut a, mut b, mut c, mut d] = *s;
    c = c.wrapping_add(word(&half[..8]));
    d = d.wrapping_add(word(&half[8..]));
    for [first, second, third, fourth] in [[50, 52, 30, 41], [54, 48, 38, 37], [62, 34, 5, 36]] {
        turn(&mut c, first, d, &mut a);
        turn(&mut d, second, a, &mut b);
        turn(&mut a, third, b, &mut c);
        turn(&mut b, fourth, c, &mut d);
    }
    *s = [a, b, c, d];
}

#[inline]
fn turn(turned: &mut u64, rotation: u32, added: u64, mixed: &mut u64) {
    *turned = turned.rotate_left(rotation).wrapping_add(added);
    *mixed ^= *turned;
}

fn short_end([mut a, mut b, mut c, mut d]: [u64; 4]) -> u64 {
    for [first, second, third, fourth] in [[15, 52, 26, 51], [28, 9, 47, 54]] {
        mix(&mut d, &mut c, first);
        mix(&mut a, &mut d, second);
        mix(&mut b, &mut a, third);
        mix(&mut c, &mut b, fourth);
    }
    mix(&mut d, &mut c, 32);
    mix(&mut a, &mut d, 25);
    mix(&mut b, &mut a, 63);
    a
}

#[inline]
fn mix(mixed: &mut u64, turned: &mut u64, rotation: u32) {
    *mixed ^= *turned;
    *turned = turned.rotate_left(rotation);
    *mixed = mixed.wrapping_add(*turned);
}

fn long(message: &[u8]) -> u64 {
    const MIX: [u32; 12] = [11, 32, 43, 31, 17, 28, 39, 57, 55, 54, 22, 46];
    const END: [u32; 12] = [44, 15, 34, 21, 38, 33, 10, 13, 38, 53, 42, 54];
    let mut s: [u64; 12] = std::array::from_fn(|i| if i % 3 == 2 { FILLER } else { 0 });
    let mut blocks = message.chunks_exact(BLOCK);
    for block in &mut blocks {
        for (i, rotation) in MIX.into_iter().enumerate() {
            let (two, ten, eleven, one) = ((i + 2) % 12, (i + 10) % 12, (i + 11) % 12, (i + 1) % 12);
            s[i] = s[i].wrapping_add(word(&block[8 * i..8 * i + 8]));
            s[two] ^= s[ten];
            s[eleven] ^= s[i];
            s[i] = s[i].rotate_left(rotation);
            s[eleven] = s[eleven].wrapping_add(s[one]);
        }
    }
    let rest = blocks.remainder();
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    last[BLOCK - 1] = u8::try_from(rest.len()).expect("a remainder is shorter than a block");
    for (i, part) in last.chunks_exact(8).enumerate() {
        s[i] = s[i].wrapping_add(word(part));
    }
    for _ in 0..3 {
        for (i, rotation) in END.into_iter().enumerate() {
            let (eleven, one, two) = ((i + 11) % 12, (i + 1) % 12, (i + 2) % 12);
            s[eleven] = s[eleven].wrapping_add(s[one]);
            s[two] ^= s[eleven];
            s[one] = s[one].rotate_left(rotation);
        }
    }
    s[0]
}

#[cfg(test)]
mod tests {
    use super::hash64;

    /// The low halves of the hashes of the bytes 128, 129, … of each length, as the algorithm's author publishes them.
    #[test]
    fn published_results() {
        let message: Vec<u8> = (0..512_u32).map(|i| (i + 128) as u8).collect();
        for (length, expect) in [
            (0, 0x6bf5_0919),
            (1, 0x70de_1d26),
            (7, 0xf9f1_a233),
            (8, 0xee19_3982),
            (15, 0x83ec_01f9),
            (16, 0xf274_736c),
            (31, 0x027b_ca7c),
            (32, 0xe5cf_c8b6),
            (191, 0xe13d_9e19),
            (192, 0x77e0_12bd),
            (256, 0x38ce_bf03),
            (288, 0x4788_0140),
            (511, 0xcc1c_8250),
        ] {
            assert_eq!(hash64(&message[..length]) & 0xffff_ffff, expect, "{length} bytes");
        }
    }
}
