//! The digest that the list of the bags gives of payloads.
//!
//! Source: FIPS 180-4, section 6.2.

/// The first eight bytes of the SHA-256 of `bytes`, as hexadecimal text.
pub(crate) fn sha256_prefix(bytes: &[u8]) -> String {
    let [first, second, ..] = sha256(bytes);
    format!("{first:08x}{second:08x}")
}

fn sha256(bytes: &[u8]) -> [u32; 8] {
    let primes = primes();
    // The fractions of the roots of the first primes.
    let rounds: Vec<u32> = primes.iter().map(|prime| fraction_of_root(*prime, 3)).collect();
    let mut state: [u32; 8] = std::array::from_fn(|i| fraction_of_root(primes[i], 2));
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - bytes.len() < 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let end = padded.len() - 8;
    padded[end..].copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut words: Vec<u32> = block
            .chunks_exact(4)
            .map(|word| u32::from_be_bytes(word.try_into().unwrap()))
            .collect();
        for i in 16..64 {
            let (a, b) = (words[i - 15], words[i - 2]);
            let small0 = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let small1 = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            let sum = words[i - 16].wrapping_add(small0).wrapping_add(words[i - 7]);
            words.push(sum.wrapping_add(small1));
        }
        let mut v = state;
        for (word, round) in words.iter().zip(&rounds) {
            let big1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let sum = v[7].wrapping_add(big1).wrapping_add(choice);
            let first = sum.wrapping_add(*round).wrapping_add(*word);
            let big0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            let second = big0.wrapping_add(majority);
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(first);
            v[0] = first.wrapping_add(second);
        }
        for (sum, value) in state.iter_mut().zip(v) {
            *sum = sum.wrapping_add(value);
        }
    }
    state
}

fn primes() -> Vec<u64> {
    (2..).filter(|n| (2..*n).all(|divisor| n % divisor != 0)).take(64).collect()
}

/// The first 32 bits behind the point of a root of a small number.
fn fraction_of_root(n: u64, degree: u32) -> u32 {
    // The largest root whose power does not pass n, with 32 bits behind the point.
    let wanted = u128::from(n) << (32 * degree);
    let mut root: u128 = 0;
    for bit in (0..40).rev() {
        let larger = root | 1 << bit;
        if larger.pow(degree) <= wanted {
            root = larger;
        }
    }
    u32::try_from(root & u128::from(u32::MAX)).unwrap()
}

#[test]
fn the_digest_is_that_of_the_standard() {
    assert_eq!(sha256_prefix(b""), "e3b0c44298fc1c14");
    assert_eq!(sha256_prefix(b"abc"), "ba7816bf8f01cfea");
    assert_eq!(sha256_prefix(&[b'a'; 1_000]), "41edece42d63e8d9");
    let two_blocks = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    assert_eq!(sha256_prefix(two_blocks), "248d6a61d20638b8");
}
