use std::borrow::Cow;

/// The text in the bytes of a CDR string: without its terminator, when it has one, and with
/// U+FFFD for bytes that are not UTF-8.
#[inline]
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    lossy(without_nul(bytes))
}

#[inline]
pub(crate) fn without_nul(bytes: &[u8]) -> &[u8] {
    match bytes.split_last() {
        Some((0, text)) => text,
        _ => bytes,
    }
}

/// Tried as a whole first: the lossy way, which looks for the first fault, takes longer over text
/// without any.
#[inline]
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}
