//! What a pass that decodes saw.

use crate::Tally;

/// Every message and every field of interest; equal for every way to read the same files, in
/// whatever order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// The messages.
    pub tally: Tally,
    /// Numbers that were read.
    pub numbers: u64,
    /// The sum of their bits, which the order of adding does not change.
    pub number_bits: u64,
    /// Texts that were read.
    pub texts: u64,
    /// The sum over the texts of their length and last byte.
    pub text_bytes: u64,
}

impl Seen {
    /// Takes in a number.
    #[inline]
    pub fn number(&mut self, number: f64) {
        self.numbers += 1;
        self.number_bits = self.number_bits.wrapping_add(number.to_bits());
    }

    /// Takes in a text.
    #[inline]
    pub fn text(&mut self, text: &str) {
        self.texts += 1;
        let last = text.as_bytes().last().copied().unwrap_or_default();
        self.text_bytes += ((text.len() as u64) << 8) + u64::from(last);
    }
}
