/// Checks that a text is names separated by dots, each with an optional `[]` or `[n]`, such as
/// `detections[].results[0].hypothesis.class_id`. What it leads to is not known here.
pub(crate) fn check_field_path(path: &str) -> Result<(), String> {
    if path.split('.').all(is_step) {
        return Ok(());
    }
    Err(format!(
        "{path:?} is no field path; it is names separated by dots, each with an optional [] or \
         [n], such as detections[].label"
    ))
}

fn is_step(step: &str) -> bool {
    let name = match step.split_once('[') {
        None => step,
        Some((name, index)) => match index.strip_suffix(']') {
            Some("") => name,
            Some(n) if n.chars().all(|c| c.is_ascii_digit()) && n.parse::<u32>().is_ok() => name,
            Some(_) | None => return false,
        },
    };
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_dots_and_brackets_are_a_path() {
        for path in ["data", "pose.pose.position", "detections[].label", "a[0].b[].c_1", "_x"] {
            assert!(check_field_path(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn everything_else_is_none() {
        for path in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "a b",
            "1a",
            "a[",
            "a[]b",
            "a[-1]",
            "a[1",
            "[]",
            "a[][]",
            "a[99999999999]",
            "a[+1]",
            "a/b",
            "a-b",
        ] {
            assert!(check_field_path(path).is_err(), "{path}");
        }
    }
}
