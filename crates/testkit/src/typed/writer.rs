//! Bytes with alignment, counted from where the writer starts.

use crate::payload::ByteOrder;

/// Appends numbers, each at a multiple of its width or of the greatest alignment.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
    pub(super) order: ByteOrder,
    /// 1 for ROS 1, 8 for version 1 of CDR, 4 for version 2.
    max_align: usize,
    padding_byte: u8,
}

impl Writer {
    pub(super) const fn new(order: ByteOrder, max_align: usize, padding_byte: u8) -> Self {
        Self { bytes: Vec::new(), order, max_align, padding_byte }
    }

    /// A writer of the same rules that starts anew.
    pub(super) const fn anew(&self) -> Self {
        Self::new(self.order, self.max_align, self.padding_byte)
    }

    pub(super) fn align(&mut self, width: usize) {
        let align = width.min(self.max_align);
        while !self.bytes.len().is_multiple_of(align) {
            self.bytes.push(self.padding_byte);
        }
    }

    /// Appends the low `width` bytes of `bits`, aligned.
    pub(super) fn number(&mut self, bits: u64, width: usize) {
        self.align(width);
        let mut bytes: Vec<u8> = bits.to_le_bytes().into_iter().take(width).collect();
        if self.order == ByteOrder::Big {
            bytes.reverse();
        }
        self.bytes.extend(bytes);
    }

    /// Appends a count or a size as 32 bits.
    ///
    /// # Panics
    ///
    /// When it does not fit.
    pub(super) fn size(&mut self, size: usize) {
        assert!(u32::try_from(size).is_ok(), "{size} does not fit into 32 bits");
        self.number(size as u64, 4);
    }

    /// Puts the number of bytes behind the four at `place` into these four.
    pub(super) fn set_size_at(&mut self, place: usize) {
        let size = self.bytes.len() - place - 4;
        let mut number = self.anew();
        number.size(size);
        self.bytes.splice(place..place + 4, number.bytes);
    }
}
