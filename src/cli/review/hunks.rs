//! Which ranges of lines differ between two files, in good time for any two files.
//!
//! Where lines repeat, the time of a comparison grows with the square of their number, and a
//! proposal may be made to be slow. So what is long is first cut at lines that stand once in both
//! files and in the same order; the pieces between are compared one by one, until too much work was
//! done. What is left then counts as changed as a whole, which is coarse and still true.

use std::hash::Hash;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput, Token};

/// Lines of a piece that is compared in one go: a tenth of a second at worst.
pub(super) const PIECE_LINES_MAX: usize = 10_000;

/// Lines of all pieces of a pair of files: seconds at worst.
const ALL_LINES_MAX: usize = 100_000;

/// The changes in order, none touching another, and whether all were told apart.
pub(super) fn hunks<T: AsRef<[u8]> + Hash + Eq>(input: &InternedInput<T>) -> (Vec<Hunk>, bool) {
    let (before, after) = (&input.before, &input.after);
    let (old, new) = middle(before, after);
    if old.len().max(new.len()) <= PIECE_LINES_MAX {
        let mut diff = Diff::compute(Algorithm::Histogram, input);
        diff.postprocess_lines(input);
        return (diff.hunks().collect(), true);
    }
    let anchors = anchors(&before[old.clone()], &after[new.clone()]);
    let anchors = anchors.into_iter().map(|(at, to)| (old.start + at, new.start + to));
    let (mut hunks, mut lines_left, mut is_fine) = (Vec::new(), ALL_LINES_MAX, true);
    let (mut old_at, mut new_at) = (old.start, new.start);
    for (old_end, new_end) in anchors.chain([(old.end, new.end)]) {
        let piece = (old_at..old_end, new_at..new_end);
        let lines = piece.0.len().max(piece.1.len());
        match lines_left.checked_sub(lines).filter(|_| lines <= PIECE_LINES_MAX) {
            Some(left) => {
                lines_left = left;
                hunks.extend(piece_hunks(before, after, piece));
            }
            None => {
                is_fine &= piece.0.is_empty() || piece.1.is_empty();
                hunks.push(hunk(piece.0, piece.1));
            }
        }
        (old_at, new_at) = (old_end + 1, new_end + 1);
    }
    (hunks, is_fine)
}

/// What is left between the lines that begin both files and those that end both.
fn middle(before: &[Token], after: &[Token]) -> (Range<usize>, Range<usize>) {
    let head = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let rest = before[head..].iter().rev().zip(after[head..].iter().rev());
    let tail = rest.take_while(|(old, new)| old == new).count();
    (head..before.len() - tail, head..after.len() - tail)
}

/// The changes within a piece of each file.
fn piece_hunks(
    before: &[Token],
    after: &[Token],
    (old, new): (Range<usize>, Range<usize>),
) -> Vec<Hunk> {
    // Numbered anew: the work would grow with the numbers of the whole files.
    let mut input = InternedInput::default();
    input.update_before(before[old.clone()].iter().map(|token| token.0));
    input.update_after(after[new.clone()].iter().map(|token| token.0));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let moved = |range: Range<u32>, by: usize| range.start as usize + by..range.end as usize + by;
    let hunks = diff.hunks();
    hunks.map(|found| hunk(moved(found.before, old.start), moved(found.after, new.start))).collect()
}

/// Places of lines that stand once in both files, as many as come in the same order.
fn anchors(before: &[Token], after: &[Token]) -> Vec<(usize, usize)> {
    let (old, new) = (places(before), places(after));
    let place = |places: &[Place], token: Token| match places.get(token.0 as usize) {
        Some(Place::Once(at)) => Some(*at),
        Some(Place::Nowhere | Place::Often) | None => None,
    };
    let once = before.iter().filter_map(|&token| Some((place(&old, token)?, place(&new, token)?)));
    longest_rise(&once.collect::<Vec<_>>())
}

/// Where a line stands in a file.
#[derive(Debug, Clone, Copy)]
enum Place {
    Nowhere,
    Once(usize),
    Often,
}

fn places(tokens: &[Token]) -> Vec<Place> {
    let most = tokens.iter().map(|token| token.0 as usize + 1).max().unwrap_or_default();
    let mut places = vec![Place::Nowhere; most];
    for (at, token) in tokens.iter().enumerate() {
        let place = &mut places[token.0 as usize];
        *place = match place {
            Place::Nowhere => Place::Once(at),
            Place::Once(_) | Place::Often => Place::Often,
        };
    }
    places
}

/// The longest choice of pairs whose second places rise as the first ones do: patience sorting.
fn longest_rise(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // Of each length of a rise, the pair with the lowest end; and of each pair, the one before it.
    let (mut ends, mut befores): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (index, (_, to)) in pairs.iter().enumerate() {
        let len = ends.partition_point(|&end| pairs[end].1 < *to);
        befores.push(len.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(len) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut rise = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(index) = at {
        rise.push(pairs[index]);
        at = befores[index];
    }
    rise.reverse();
    rise
}

fn hunk(old: Range<usize>, new: Range<usize>) -> Hunk {
    // Lines are numbered in 32 bits already.
    let range = |range: Range<usize>| range.start as u32..range.end as u32;
    Hunk { before: range(old), after: range(new) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_rise(pairs: &[(usize, usize)], expected: &[(usize, usize)]) {
        assert_eq!(longest_rise(pairs), expected);
    }

    #[test]
    fn the_longest_rise_is_found() {
        check_rise(&[], &[]);
        check_rise(&[(0, 5)], &[(0, 5)]);
        check_rise(&[(0, 2), (1, 1), (2, 0)], &[(2, 0)]);
        check_rise(&[(0, 9), (1, 1), (2, 5), (3, 2), (4, 3)], &[(1, 1), (3, 2), (4, 3)]);
    }

    fn input(old: &str, new: &str) -> InternedInput<String> {
        let mut input = InternedInput::default();
        input.update_before(old.lines().map(str::to_owned));
        input.update_after(new.lines().map(str::to_owned));
        input
    }

    #[test]
    fn few_changes_in_many_lines_are_told_apart() {
        let old: String = (0..60_000).map(|n| format!("{n}\n")).collect();
        let new = format!("{}end\n", old.replace("\n7\n", "\nseven\n").replace("\n40000\n", "\n"));
        let (hunks, is_fine) = hunks(&input(&old, &new));
        let expected = [
            hunk(7..8, 7..8),
            hunk(40_000..40_001, 40_000..40_000),
            hunk(60_000..60_000, 59_999..60_000),
        ];
        assert_eq!((hunks.as_slice(), is_fine), (expected.as_slice(), true));
    }

    #[test]
    fn too_many_changes_that_repeat_count_as_one() {
        let every = |step: usize| -> String {
            (0..PIECE_LINES_MAX + 40).map(|n| if n % step == 0 { "x\n" } else { "\n" }).collect()
        };
        let (hunks, is_fine) = hunks(&input(&every(3), &every(5)));
        assert!(!is_fine && hunks.len() == 1, "{hunks:?}");
    }
}
