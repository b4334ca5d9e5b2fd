//! "Did you mean": the known word nearest to a misspelled one.

/// Longest word that is looked at, in characters; longer ones are no typing mistakes.
const WORD_CHARS_MAX: usize = 40;

/// The candidate that `word` most likely stands for: equal but for case and separators, or at most
/// a third of its letters away.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = plain(word);
    if plain.is_empty() || plain.len() > WORD_CHARS_MAX {
        return None;
    }
    let rated = candidates
        .into_iter()
        .map(|candidate| (distance(&plain, &self::plain(candidate)), candidate));
    let (distance, candidate) = rated.min_by_key(|(distance, _)| *distance)?;
    (distance * 3 <= plain.len().max(3)).then_some(candidate)
}

/// `, did you mean "x"?`, or nothing.
pub fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(word, candidates) {
        Some(candidate) => format!(", did you mean \"{candidate}\"?"),
        None => String::new(),
    }
}

/// Lower case, without separators: `pingInterval` and `ping_interval` are one word.
fn plain(word: &str) -> Vec<char> {
    word.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Letters inserted, removed, replaced or swapped with their neighbour between two words.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut rows = vec![vec![0; to.len() + 1]; from.len() + 1];
    for row in 0..=from.len() {
        for column in 0..=to.len() {
            rows[row][column] = match (row, column) {
                (0, _) => column,
                (_, 0) => row,
                _ => {
                    let is_same = from[row - 1] == to[column - 1];
                    let replaced = rows[row - 1][column - 1] + usize::from(!is_same);
                    let moved = rows[row - 1][column].min(rows[row][column - 1]) + 1;
                    let is_swap = row > 1
                        && column > 1
                        && from[row - 1] == to[column - 2]
                        && from[row - 2] == to[column - 1];
                    let swapped = if is_swap { rows[row - 2][column - 2] + 1 } else { usize::MAX };
                    replaced.min(moved).min(swapped)
                }
            };
        }
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        assert_eq!(
            nearest(word, ["port", "ping-interval", "no-auth", "token"]),
            expected,
            "{word}"
        );
    }

    #[test]
    fn the_nearest_word_is_named_only_when_it_is_near() {
        check("prot", Some("port"));
        check("prt", Some("port"));
        check("ports", Some("port"));
        check("pingInterval", Some("ping-interval"));
        check("ping_intervall", Some("ping-interval"));
        check("noauth", Some("no-auth"));
        check("tokn", Some("token"));
        check("workspace", None);
        check("", None);
        check(&"x".repeat(10_000), None);
    }
}
