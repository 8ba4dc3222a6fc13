//! A writer of CDR payloads, written from the specification and from nothing of ours.
//!
//! ```text
//! offset  width  name             meaning
//! 0       2      representation   00 00 big-endian CDR, 00 01 little-endian CDR
//! 2       2      options          zero
//! 4       ...    body             each number at a multiple of its width, counted from offset 4
//! ```
//!
//! Source: OMG DDS-XTYPES 1.3, section 7.4 (plain CDR, version 1); OMG CORBA 3.3 part 2, 9.3.

/// The order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first, as nearly every robot writes.
    Little,
    /// Most significant byte first.
    Big,
}

/// Collects the fields of one message in the order of its definition.
#[derive(Debug, Clone)]
pub struct CdrWriter {
    bytes: Vec<u8>,
    order: ByteOrder,
}

/// Width of the encapsulation header, from whose end alignment is counted.
const HEADER_BYTES: usize = 4;

macro_rules! number {
    ($name:ident, $type:ty, $doc:literal) => {
        #[doc = $doc]
        pub fn $name(&mut self, value: $type) -> &mut Self {
            match self.order {
                ByteOrder::Little => self.aligned(&value.to_le_bytes()),
                ByteOrder::Big => self.aligned(&value.to_be_bytes()),
            }
        }
    };
}

impl CdrWriter {
    /// Starts a payload with its encapsulation header.
    pub fn new(order: ByteOrder) -> Self {
        let representation = match order {
            ByteOrder::Little => 1,
            ByteOrder::Big => 0,
        };
        Self { bytes: vec![0, representation, 0, 0], order }
    }

    number!(u8, u8, "Appends an octet; also `byte` and `char`.");
    number!(u16, u16, "Appends a 16-bit number.");
    number!(u32, u32, "Appends a 32-bit number.");
    number!(u64, u64, "Appends a 64-bit number.");
    number!(i8, i8, "Appends a signed octet.");
    number!(i16, i16, "Appends a signed 16-bit number.");
    number!(i32, i32, "Appends a signed 32-bit number.");
    number!(i64, i64, "Appends a signed 64-bit number.");
    number!(f32, f32, "Appends a single-precision number.");
    number!(f64, f64, "Appends a double-precision number.");

    /// Appends a truth value as one octet.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.u8(u8::from(value))
    }

    /// Appends the number of elements that follow.
    pub fn length(&mut self, elements: usize) -> &mut Self {
        self.u32(u32::try_from(elements).unwrap_or(u32::MAX))
    }

    /// Appends a string: its length with the closing zero, its bytes, the zero.
    pub fn string(&mut self, text: &str) -> &mut Self {
        self.length(text.len() + 1);
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
        self
    }

    /// Appends a `builtin_interfaces/msg/Time`.
    pub fn time_ns(&mut self, ns: u64) -> &mut Self {
        let (s, rest_ns) = (ns / 1_000_000_000, ns % 1_000_000_000);
        self.i32(i32::try_from(s).unwrap_or(i32::MAX));
        self.u32(u32::try_from(rest_ns).unwrap_or(0))
    }

    /// Appends a `std_msgs/msg/Header`.
    pub fn header(&mut self, stamp_ns: u64, frame_id: &str) -> &mut Self {
        self.time_ns(stamp_ns).string(frame_id)
    }

    /// The payload as it stands in a message record.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    fn aligned(&mut self, number: &[u8]) -> &mut Self {
        while !(self.bytes.len() - HEADER_BYTES).is_multiple_of(number.len()) {
            self.bytes.push(0);
        }
        self.bytes.extend_from_slice(number);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_double_after_an_octet_stands_at_eight_past_the_header() {
        let mut writer = CdrWriter::new(ByteOrder::Little);
        writer.u8(7).f64(1.0);
        assert_eq!(
            writer.finish(),
            [0, 1, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F]
        );
    }

    #[test]
    fn a_string_counts_its_closing_zero() {
        let mut writer = CdrWriter::new(ByteOrder::Big);
        writer.string("ab").u16(0x0102);
        assert_eq!(writer.finish(), [0, 0, 0, 0, 0, 0, 0, 3, b'a', b'b', 0, 0, 1, 2]);
    }

    #[test]
    fn a_time_is_seconds_and_the_rest() {
        let mut writer = CdrWriter::new(ByteOrder::Little);
        writer.time_ns(2_000_000_005);
        assert_eq!(writer.finish(), [0, 1, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0]);
    }
}
