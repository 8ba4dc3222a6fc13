//! The one place where a file becomes memory.
//!
//! The contract of mapping, told straight: the file is opened read-only, is never rewritten in
//! place by this program, and was seen to be closed (it ends in its footer) before it is mapped.
//! If another process truncates it while it is mapped, the operating system ends this process
//! with SIGBUS; where that is not acceptable, `reader.mapping: read` turns mapping off.

#![expect(unsafe_code, reason = "memory mapping has no safe form; this is the only file with it")]

use std::{fs::File, io};

use memmap2::Mmap;

/// Maps the whole of a closed file for reading.
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is private to reading (no `&mut` to its bytes exists anywhere), the
    // file is one that its writer has closed, and the module's contract says what follows when
    // another process changes it all the same.
    unsafe { Mmap::map(file) }
}
