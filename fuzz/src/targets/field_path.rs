//! Field paths, one a line: a path survives its text, and plans over it agree with decoding.

use std::sync::{Arc, LazyLock};

use ros2_memory_msg::{FieldPath, Library, Schema, SchemaEncoding};

use crate::agreement;

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let text = "module p { module msg {
        struct U { int8 a; int8 b; };
        struct T { string a; sequence<long> b; U c; U d[2]; };
        struct Root {
            string a; sequence<T> b; double c[3]; float d[2][3]; U e[2][2];
            sequence<sequence<string> > f; };
        }; };";
    let schema = Schema::parse_as(SchemaEncoding::OmgIdl, "p/msg/Root", text, &Library::new());
    Arc::new(schema.expect("a fixed type"))
});

/// `data` is the paths, and the body of a message.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let paths: Vec<FieldPath> = text.split('\n').filter_map(|text| text.parse().ok()).collect();
    for path in &paths {
        assert_eq!(path.to_string().parse::<FieldPath>().as_ref(), Ok(path));
    }
    let payload = [&[0, 1, 0, 0], data].concat();
    let zeros = vec![0; payload.len()];
    agreement::check(&SCHEMA, &[&payload, &zeros, &payload], &paths, false);
}
