/// The indices that represent `total` elements by at most `limit`: evenly spaced, always with
/// the first, and with the last when two or more are kept.
///
/// # Examples
///
/// ```
/// use ros2_memory_msg::spread;
///
/// assert_eq!(spread(10, 4).collect::<Vec<_>>(), [0, 3, 6, 9]);
/// assert_eq!(spread(3, 50).collect::<Vec<_>>(), [0, 1, 2]);
/// assert_eq!(spread(10, 0).count(), 0);
/// ```
pub fn spread(total: usize, limit: usize) -> impl Iterator<Item = usize> + Clone {
    let kept = total.min(limit);
    // k * (total - 1) / (kept - 1) is strictly increasing while kept <= total.
    (0..kept).map(move |k| match kept {
        1 => 0,
        _ => {
            (k as u128 * (total - 1) as u128 / (kept - 1) as u128).try_into().unwrap_or(usize::MAX)
        }
    })
}
