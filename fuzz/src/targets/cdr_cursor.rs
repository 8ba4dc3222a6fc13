//! A random type in any language, a payload under any header: every way to read it agrees.

use std::sync::Arc;

use arbitrary::{Arbitrary, Unstructured};
use ros2_memory_msg::FieldPath;

use crate::{agreement, definition::TypedPayload};

/// `data` makes a [`TypedPayload`].
pub fn run(data: &[u8]) {
    let Ok(input) = TypedPayload::arbitrary_take_rest(Unstructured::new(data)) else { return };
    if input.is_large() {
        return;
    }
    let Ok(schema) = input.schema() else { return };
    let paths: Vec<FieldPath> = input.paths().iter().filter_map(|text| text.parse().ok()).collect();
    let [first, second] = input.payloads();
    let payloads: [&[u8]; 3] = [&first, &second, &first];
    agreement::check(&Arc::new(schema), &payloads, &paths, input.may_have_lengths());
}
