use bytemuck::Pod;

use crate::{ByteOrder, Primitive, Scalar};

/// A run of primitive values, borrowed from the payload.
///
/// `bytes.len()` is always `len * kind.size()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Primitives<'a> {
    bytes: &'a [u8],
    kind: Primitive,
    order: ByteOrder,
}

impl<'a> Primitives<'a> {
    pub(crate) fn new(bytes: &'a [u8], kind: Primitive, order: ByteOrder) -> Self {
        debug_assert!(bytes.len().is_multiple_of(kind.size()), "whole elements only");
        Self { bytes, kind, order }
    }

    /// The type of the elements.
    pub fn kind(&self) -> Primitive {
        self.kind
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.kind.size()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes as they lie in the payload.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The element at `index`.
    pub fn get(&self, index: usize) -> Option<Scalar> {
        let size = self.kind.size();
        let start = index.checked_mul(size)?;
        self.kind.read(self.bytes.get(start..start.checked_add(size)?)?, self.order)
    }

    /// The elements in order.
    pub fn iter(&self) -> impl Iterator<Item = Scalar> + use<'a> {
        let (kind, order) = (self.kind, self.order);
        self.bytes.chunks_exact(kind.size()).filter_map(move |bytes| kind.read(bytes, order))
    }

    /// The elements as a slice, without copying: only when `T` has their size, the bytes are
    /// aligned for it and in the machine's order. The caller names the right `T`.
    pub fn as_slice<T: Pod>(&self) -> Option<&'a [T]> {
        let same_size = size_of::<T>() == self.kind.size();
        let native = self.order == ByteOrder::NATIVE || self.kind.size() == 1;
        (same_size && native).then(|| bytemuck::try_cast_slice(self.bytes).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_native_aligned_run_is_borrowed() {
        let values = [1.5f64, -2.0, 3.25];
        let bytes: &[u8] = bytemuck::cast_slice(&values);
        let run = Primitives::new(bytes, Primitive::F64, ByteOrder::NATIVE);
        assert_eq!(run.as_slice::<f64>(), Some(&values[..]));
        assert_eq!(run.as_slice::<f64>().unwrap().as_ptr(), values.as_ptr());
    }

    #[test]
    fn a_foreign_run_is_read_element_by_element() {
        let bytes = [0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe];
        let run = Primitives::new(&bytes, Primitive::I32, ByteOrder::Big);
        assert!(run.as_slice::<i32>().is_none());
        assert_eq!(run.iter().collect::<Vec<_>>(), [Scalar::I64(1), Scalar::I64(-2)]);
        assert_eq!(run.get(2), None);
        assert_eq!(run.get(usize::MAX), None);
    }
}
