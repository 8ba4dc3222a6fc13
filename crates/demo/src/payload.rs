use crate::number::{count, sequence};

/// Writes one message as plain little-endian CDR (XCDR version 1), as ROS 2 stores it.
///
/// | offset | width | meaning |
/// |---|---|---|
/// | 0 | 2 | representation: `00 01`, little-endian CDR |
/// | 2 | 2 | options, zero |
/// | 4 | .. | fields, each aligned to its own size counted from offset 4 |
#[derive(Debug)]
pub(crate) struct Payload {
    bytes: Vec<u8>,
}

const ENCAPSULATION: [u8; 4] = [0, 1, 0, 0];

impl Payload {
    /// An empty message with room for `capacity` bytes.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity.max(ENCAPSULATION.len()));
        bytes.extend_from_slice(&ENCAPSULATION);
        Self { bytes }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.u8(u8::from(value));
    }

    pub(crate) fn i32(&mut self, value: i32) {
        self.aligned(value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.aligned(value.to_le_bytes());
    }

    pub(crate) fn f32(&mut self, value: f32) {
        self.aligned(value.to_le_bytes());
    }

    pub(crate) fn f64(&mut self, value: f64) {
        self.aligned(value.to_le_bytes());
    }

    pub(crate) fn f64s(&mut self, values: &[f64]) {
        for value in values {
            self.f64(*value);
        }
    }

    /// The length in front of a sequence.
    pub(crate) fn length(&mut self, items: usize) {
        self.u32(sequence(count(items)));
    }

    /// Length with the closing zero, bytes, zero.
    pub(crate) fn string(&mut self, text: &str) {
        self.length(text.len() + 1);
        self.bytes.extend_from_slice(text.as_bytes());
        self.u8(0);
    }

    fn aligned<const N: usize>(&mut self, value: [u8; N]) {
        let at = self.bytes.len() - ENCAPSULATION.len();
        self.bytes.resize(ENCAPSULATION.len() + at.next_multiple_of(N), 0);
        self.bytes.extend_from_slice(&value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignment_counts_from_after_the_encapsulation_header() {
        let mut payload = Payload::with_capacity(0);
        payload.u8(7);
        payload.f64(1.0);
        payload.string("ab");
        payload.u32(9);
        let expected = [
            [0, 1, 0, 0].as_slice(),
            &[7, 0, 0, 0, 0, 0, 0, 0],
            &1.0_f64.to_le_bytes(),
            &[3, 0, 0, 0, b'a', b'b', 0, 0],
            &[9, 0, 0, 0],
        ]
        .concat();
        assert_eq!(payload.into_bytes(), expected);
    }
}
