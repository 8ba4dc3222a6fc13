use ros2_memory_cdr::{Encoding, Primitive, Scalar, Writer};

/// Writes one message as plain little-endian CDR, as ROS 2 stores it: [`Writer`] with the words
/// of message definitions.
#[derive(Debug)]
pub(crate) struct Payload(Writer);

impl Payload {
    /// An empty message with room for `capacity` bytes.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self(Writer::with_capacity(Encoding::XCDR1_LE, capacity))
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0.into_payload()
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.0.scalar(Scalar::U64(value.into()), Primitive::U8);
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.0.scalar(Scalar::Bool(value), Primitive::Bool);
    }

    pub(crate) fn i32(&mut self, value: i32) {
        self.0.scalar(Scalar::I64(value.into()), Primitive::I32);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.0.scalar(Scalar::U64(value.into()), Primitive::U32);
    }

    pub(crate) fn f32(&mut self, value: f32) {
        self.0.scalar(Scalar::F32(value), Primitive::F32);
    }

    pub(crate) fn f64(&mut self, value: f64) {
        self.0.scalar(Scalar::F64(value), Primitive::F64);
    }

    pub(crate) fn f64s(&mut self, values: &[f64]) {
        for value in values {
            self.f64(*value);
        }
    }

    /// The length in front of a sequence.
    pub(crate) fn length(&mut self, items: usize) {
        self.0.sequence_len(items);
    }

    pub(crate) fn string(&mut self, text: &str) {
        self.0.string(text);
    }
}
