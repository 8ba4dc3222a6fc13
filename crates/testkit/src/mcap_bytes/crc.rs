/// The CRC-32 of MCAP files: the one of Ethernet and zip, reflected, polynomial `0x04C11DB7`.
pub fn crc32(bytes: &[u8]) -> u32 {
    let crc = bytes.iter().fold(u32::MAX, |crc, byte| {
        let at = usize::from(crc.to_le_bytes()[0] ^ byte);
        TABLE.get(at).copied().unwrap_or_default() ^ (crc >> 8)
    });
    !crc
}

/// What each byte does to the checksum.
static TABLE: [u32; 256] = table();

#[expect(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    reason = "worked out by the compiler, which refuses a place outside the table"
)]
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_value_is_the_published_one() {
        assert_eq!(super::crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(super::crc32(b""), 0);
    }
}
