/// The name most like `wanted`, if one is near enough to be a slip of the fingers.
pub(crate) fn nearest<'a>(
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // A longer text is no name, and the distance costs its square.
    if wanted.len() > 100 {
        return None;
    }
    let limit = (wanted.chars().count() / 3).max(1);
    names
        .into_iter()
        .map(|name| (strsim::osa_distance(wanted, name), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_name_is_offered() {
        let names = ["retention", "reader", "recording"];
        assert_eq!(nearest("retenton", names), Some("retention"));
        assert_eq!(nearest("zzz", names), None);
    }
}
