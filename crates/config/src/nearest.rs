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
        .map(|name| (distance(wanted, name), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many characters must be put in, left out or changed, or neighbours swapped, to make `b` of
/// `a`: the optimal string alignment distance, row by row of its table.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    let mut row_before = Vec::new();
    let mut from_before = None;
    for (i, from) in a.chars().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        let mut left = i + 1;
        let mut to_before = None;
        next.push(left);
        for (j, (to, above)) in b.iter().zip(row.windows(2)).enumerate() {
            let [above_left, above] = *above else { continue };
            left = (above + 1).min(left + 1).min(above_left + usize::from(from != *to));
            // The cell two rows up and two columns left, when the last two are swapped.
            if from_before == Some(*to)
                && to_before == Some(from)
                && let Some(swapped) = j.checked_sub(1).and_then(|j| row_before.get(j))
            {
                left = left.min(swapped + 1);
            }
            next.push(left);
            to_before = Some(*to);
        }
        row_before = row;
        row = next;
        from_before = Some(from);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_changes_and_swaps() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("a", "a", 0),
            ("prot", "port", 1),
            ("ca", "abc", 3),
            ("ab", "ba", 1),
        ] {
            assert_eq!(distance(a, b), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn only_a_near_name_is_offered() {
        let names = ["retention", "reader", "recording"];
        assert_eq!(nearest("retenton", names), Some("retention"));
        assert_eq!(nearest("zzz", names), None);
    }
}
