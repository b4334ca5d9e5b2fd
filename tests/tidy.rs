//! The rules of the house, checked by reading the tree.
//!
//! A rule is a function from the tree to the places that break it, one line each: path, line, what is
//! wrong and what to do. Beside each rule stand small bad trees that it must object to, so that none
//! can go blind. What clippy can check is left to clippy; nothing here compiles or runs anything.

#[path = "tidy/tree.rs"]
mod tree;

#[path = "tidy/changelog.rs"]
mod changelog;
#[path = "tidy/invariants.rs"]
mod invariants;
#[path = "tidy/layers.rs"]
mod layers;
#[path = "tidy/manifest.rs"]
mod manifest;
#[path = "tidy/pages.rs"]
mod pages;
#[path = "tidy/rooms.rs"]
mod rooms;
#[path = "tidy/shape.rs"]
mod shape;
#[path = "tidy/words.rs"]
mod words;

use tree::Tree;

/// Runs one rule over the tree this file stands in.
#[track_caller]
fn the_tree_obeys(rule: fn(&Tree) -> Vec<String>) {
    let offences = rule(&Tree::read());
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

/// Runs one rule over a made-up tree. Each offence must begin with its place and contain the words
/// behind it, `"src/a.rs:3 word"`; no offence expected, none may come.
#[track_caller]
fn check(rule: fn(&Tree) -> Vec<String>, files: &[(&str, &str)], expected: &[&str]) {
    let offences = rule(&Tree::of(files));
    let fits = |(offence, expected): (&String, &&str)| {
        let (place, words) = expected.split_once(' ').unwrap_or((expected, ""));
        offence.starts_with(place) && offence.contains(words)
    };
    let all_fit = offences.iter().zip(expected).all(fits);
    assert!(all_fit && offences.len() == expected.len(), "{offences:#?}, expected {expected:#?}");
}
