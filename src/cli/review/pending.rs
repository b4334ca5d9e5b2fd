//! The diffs that wait: asked of the bridge, told apart by a person's words for one, and answered.
//!
//! A person names a diff by its tab name, by a part of it that fits no other, or by the `#n` of
//! `--list`. Names need not be unique: two agents may use the same.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::control::{ControlClient, ControlError};
use crate::cli::status::age;

use super::layout::escaped;

/// Error codes of the control door.
const NO_DIFF: i64 = -32011;
const ANSWERED: i64 = -32012;

/// How that error's message begins.
const ANSWERED_BY: &str = "already answered by ";

/// A diff that waits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pending {
    /// Its number, printed `#n`; another run of the bridge counts anew.
    pub(super) id: u64,
    pub(super) agent: String,
    pub(super) tab_name: String,
    pub(super) old_path: String,
    pub(super) new_path: String,
    pub(super) new_contents: String,
    pub(super) age_ms: u64,
}

/// The answer to a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// As proposed.
    Accept,
    /// With these contents.
    AcceptAs(String),
    Reject,
}

/// Why an answer did not count.
#[derive(Debug)]
pub(super) enum Unsettled {
    /// There is no such diff.
    NoSuch,
    /// Someone else was first; where.
    Answered(String),
    /// The bridge did not take it.
    Failed(ControlError),
}

/// What a person's words name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Picked<'a> {
    One(&'a Pending),
    /// A number that does not wait; the bridge may know what became of it.
    Gone(u64),
    Nothing,
    /// Several, oldest first.
    Several(Vec<&'a Pending>),
}

/// The diffs that wait, oldest first. From now on the bridge tells when they change.
pub(super) fn fetch(client: &mut ControlClient) -> Result<(Vec<Pending>, Value), ControlError> {
    let mut result = client.request("diffs", &json!({}))?;
    let diffs = result["diffs"].take();
    match Vec::deserialize(&diffs) {
        Ok(pending) => Ok((pending, diffs)),
        Err(error) => Err(ControlError::Garbled(error.to_string())),
    }
}

/// Answers a diff.
pub(super) fn settle(
    client: &mut ControlClient,
    id: u64,
    verdict: Verdict,
) -> Result<(), Unsettled> {
    let params = match verdict {
        Verdict::Accept => json!({"id": id, "verdict": "accept"}),
        Verdict::AcceptAs(contents) => json!({"id": id, "verdict": "accept", "contents": contents}),
        Verdict::Reject => json!({"id": id, "verdict": "reject"}),
    };
    match client.request("settle", &params) {
        Ok(_) => Ok(()),
        Err(ControlError::Refused { code: NO_DIFF, .. }) => Err(Unsettled::NoSuch),
        Err(ControlError::Refused { code: ANSWERED, message, data }) => {
            let by = data["by"].as_str().or(message.strip_prefix(ANSWERED_BY));
            Err(Unsettled::Answered(by.unwrap_or("someone else").to_owned()))
        }
        Err(error) => Err(Unsettled::Failed(error)),
    }
}

/// Finds the diff that is meant: by its exact name, its number, or a part that only it has.
pub(super) fn pick<'a>(pending: &'a [Pending], words: &str) -> Picked<'a> {
    let named = |fits: &dyn Fn(&Pending) -> bool| -> Vec<&'a Pending> {
        pending.iter().filter(|diff| fits(diff)).collect()
    };
    let exact = named(&|diff| diff.tab_name == words);
    if !exact.is_empty() {
        return one_of(exact);
    }
    if let Some(id) = words.strip_prefix('#').and_then(|id| id.parse().ok()) {
        let found = pending.iter().find(|diff| diff.id == id);
        return found.map_or(Picked::Gone(id), Picked::One);
    }
    if words.is_empty() {
        return Picked::Nothing;
    }
    one_of(named(&|diff| diff.tab_name.contains(words)))
}

fn one_of(mut found: Vec<&Pending>) -> Picked<'_> {
    match found.len() {
        0 => Picked::Nothing,
        1 => Picked::One(found.remove(0)),
        _ => Picked::Several(found),
    }
}

/// A line a diff, for `--list`. Paths below `here` are shown from there.
pub(super) fn list(pending: &[Pending], here: &str) -> String {
    let line = |diff: &Pending| {
        let (id, age, agent) = (diff.id, age(diff.age_ms), &diff.agent);
        let (path, name) = (path_from(&diff.new_path, here), escaped(&diff.tab_name));
        format!("#{id}  {age}  {agent}  {path}  {name}\n")
    };
    pending.iter().map(line).collect()
}

/// `#2 "name", #5 "name"`.
pub(super) fn names(pending: &[&Pending]) -> String {
    let names = pending.iter().map(|diff| format!("#{} {}", diff.id, escaped(&diff.tab_name)));
    names.collect::<Vec<_>>().join(", ")
}

/// The path as a person standing in `here` would write it, control characters spelled out.
pub(super) fn path_from(path: &str, here: &str) -> String {
    let below = path.strip_prefix(here).and_then(|rest| rest.strip_prefix('/'));
    escaped(below.filter(|_| !here.is_empty()).unwrap_or(path))
}

#[cfg(test)]
pub(super) fn example(id: u64, tab_name: &str) -> Pending {
    Pending {
        id,
        agent: "client_1".to_owned(),
        tab_name: tab_name.to_owned(),
        old_path: format!("/w/{tab_name}"),
        new_path: format!("/w/{tab_name}"),
        new_contents: "new\n".to_owned(),
        age_ms: 61_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, expected: Result<u64, &str>) {
        let pending = [
            example(1, "a.rs"),
            example(2, "ba.rs"),
            example(4, "c.txt"),
            example(5, "c.txt"),
            example(6, "#2"),
        ];
        let picked = match pick(&pending, words) {
            Picked::One(diff) => Ok(diff.id),
            Picked::Gone(id) => Err(format!("gone {id}")),
            Picked::Nothing => Err("nothing".to_owned()),
            Picked::Several(several) => Err(names(&several)),
        };
        assert_eq!(picked, expected.map_err(str::to_owned), "{words:?}");
    }

    #[test]
    fn a_diff_is_named_exactly_by_number_or_by_a_part_of_its_own() {
        check("a.rs", Ok(1));
        check("ba", Ok(2));
        check(".rs", Err("#1 a.rs, #2 ba.rs"));
        check("c.txt", Err("#4 c.txt, #5 c.txt"));
        check("#4", Ok(4));
        check("#2", Ok(6));
        check("#3", Err("gone 3"));
        check("#x", Err("nothing"));
        check("", Err("nothing"));
        check("rust", Err("nothing"));
    }

    #[test]
    fn the_list_has_a_line_a_diff_and_no_control_characters() {
        let mut second = example(12, "x\n\u{1b}[2J");
        second.new_path = "/elsewhere/x".to_owned();
        assert_eq!(
            list(&[example(1, "a.rs"), second], "/w"),
            "#1  1 min 1 s  client_1  a.rs  a.rs\n\
             #12  1 min 1 s  client_1  /elsewhere/x  x\\n\\u{1b}[2J\n"
        );
        assert_eq!(list(&[], "/w"), "");
        for (here, expected) in [("/w", "a"), ("/", "/w/a"), ("", "/w/a"), ("/w/a", "/w/a")] {
            assert_eq!(path_from("/w/a", here), expected, "{here}");
        }
    }

    #[test]
    fn diffs_are_read_as_the_bridge_tells_them() {
        let told = json!([{"id": 1, "agent": "client_1", "tabName": "a", "oldPath": "/w/a",
            "newPath": "/w/a", "newContents": "new\n", "ageMs": 61_000, "more": true}]);
        let pending: Vec<Pending> = Vec::deserialize(&told).expect("it has every field");
        assert_eq!(pending, [example(1, "a")]);
        assert!(Vec::<Pending>::deserialize(&json!([{"id": 1}])).is_err());
    }
}
