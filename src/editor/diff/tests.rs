//! Every way a diff ends, and how many verdicts its call gets: exactly one, or none if nobody waits.

use super::*;

const FIRST: ClientId = ClientId(1);
const SECOND: ClientId = ClientId(2);

fn call(client: ClientId, serial: u64) -> CallId {
    CallId { client, serial }
}

fn proposal(tab_name: &str, contents: &str) -> Proposal {
    Proposal {
        old_path: "/ws/a".into(),
        new_path: "/ws/a".into(),
        new_contents: contents.into(),
        tab_name: tab_name.into(),
    }
}

fn open(diffs: &mut Diffs, call: CallId, tab_name: &str) -> DiffId {
    diffs.open(call, proposal(tab_name, "new"), 7).expect("there is room")
}

fn held_count(diffs: &Diffs) -> usize {
    diffs.pending().len()
}

fn outputs(diffs: &mut Diffs) -> Vec<Output> {
    std::iter::from_fn(|| diffs.poll_output()).collect()
}

fn settled(diffs: &mut Diffs) -> Vec<(CallId, Verdict)> {
    let settled = outputs(diffs).into_iter().filter_map(|output| match output {
        Output::Settled { call, verdict } => Some((call, verdict)),
        Output::Waiting { .. } => None,
    });
    settled.collect()
}

/// Opens the first client's `tab`, lets `end` happen twice, and counts what came out.
#[track_caller]
fn check(end: fn(&mut Diffs, DiffId), expected: &[Verdict]) {
    let mut diffs = Diffs::new();
    let held = call(FIRST, 1);
    let id = open(&mut diffs, held, "tab");
    let other = open(&mut diffs, call(SECOND, 1), "tab");
    assert_eq!(outputs(&mut diffs).len(), 2, "each says once that it waits");
    end(&mut diffs, id);
    end(&mut diffs, id);
    let expected: Vec<(CallId, Verdict)> =
        expected.iter().map(|verdict| (held, verdict.clone())).collect();
    assert_eq!(settled(&mut diffs), expected);
    let left: Vec<DiffId> = diffs.pending().map(|diff| diff.id).collect();
    assert_eq!(left, [other], "the other client's diff of that name stays");
    diffs.client_gone(SECOND);
    assert_eq!((held_count(&diffs), diffs.proposals_bytes, outputs(&mut diffs).len()), (0, 0, 0));
}

#[test]
fn every_ending_gives_exactly_one_verdict() {
    check(
        |diffs, id| {
            let _ = diffs.settle(id, Verdict::Saved("\u{feff}a\r\nb".into()));
        },
        &[Verdict::Saved("\u{feff}a\r\nb".into())],
    );
    check(
        |diffs, id| {
            let _ = diffs.settle(id, Verdict::Rejected);
        },
        &[Verdict::Rejected],
    );
    check(
        |diffs, _| {
            diffs.close_tab(FIRST, "tab");
        },
        &[Verdict::Rejected],
    );
    check(
        |diffs, _| {
            diffs.close_all(FIRST);
        },
        &[Verdict::Rejected],
    );
}

#[test]
fn a_cancelled_call_and_a_client_that_left_get_none() {
    check(|diffs, _| diffs.cancel(call(FIRST, 1)), &[]);
    check(|diffs, _| diffs.client_gone(FIRST), &[]);
}

#[test]
fn a_verdict_not_yet_fetched_goes_with_its_call() {
    let mut diffs = Diffs::new();
    let id = open(&mut diffs, call(FIRST, 1), "tab");
    assert_eq!(diffs.settle(id, Verdict::Rejected), Ok(()));
    diffs.cancel(call(FIRST, 1));
    assert_eq!(outputs(&mut diffs), []);
    let id = open(&mut diffs, call(FIRST, 2), "tab");
    assert_eq!(diffs.settle(id, Verdict::Rejected), Ok(()));
    diffs.client_gone(FIRST);
    assert_eq!(outputs(&mut diffs), []);
}

#[test]
fn the_same_tab_name_again_rejects_the_first() {
    let mut diffs = Diffs::new();
    for tab_name in ["tab", ""] {
        let first = open(&mut diffs, call(FIRST, 1), tab_name);
        let second = open(&mut diffs, call(FIRST, 2), tab_name);
        assert!(first < second);
        assert_eq!(settled(&mut diffs), [(call(FIRST, 1), Verdict::Rejected)]);
        assert!(diffs.get(first).is_none() && diffs.get(second).is_some());
        assert_eq!(diffs.close_tab(FIRST, tab_name), 1);
        assert_eq!(settled(&mut diffs), [(call(FIRST, 2), Verdict::Rejected)]);
    }
}

#[test]
fn close_all_counts_the_callers_own_in_the_order_they_came() {
    let mut diffs = Diffs::new();
    for (serial, tab_name) in [(1, "c"), (2, "a"), (3, "b")] {
        open(&mut diffs, call(FIRST, serial), tab_name);
    }
    open(&mut diffs, call(SECOND, 1), "d");
    assert_eq!(diffs.close_all(FIRST), 3);
    let calls: Vec<u64> = settled(&mut diffs).iter().map(|(call, _)| call.serial).collect();
    assert_eq!(calls, [1, 2, 3]);
    assert_eq!((diffs.close_all(FIRST), diffs.pending().len()), (0, 1));
    assert_eq!(diffs.close_tab(FIRST, "d"), 0, "not the caller's");
}

#[test]
fn who_comes_too_late_is_told_who_was_first() {
    let mut diffs = Diffs::new();
    let ids: Vec<DiffId> =
        (1..=5).map(|serial| open(&mut diffs, call(FIRST, serial), "")).collect();
    // Each but the last was replaced by the next.
    diffs.accept(ids[4]).expect("it waits");
    let other = open(&mut diffs, call(SECOND, 1), "tab");
    let changes = diffs.changes();
    diffs.client_gone(SECOND);
    assert_eq!(diffs.changes(), changes + 1);
    for (id, expected) in [
        (ids[0], NotSettled::Ended(EndedBy::Newer)),
        (ids[4], NotSettled::Ended(EndedBy::Reviewer)),
        (other, NotSettled::Ended(EndedBy::Departure)),
        (DiffId(99), NotSettled::Unknown),
    ] {
        assert_eq!(diffs.accept(id), Err(expected), "{id}");
        assert_eq!(diffs.settle(id, Verdict::Rejected), Err(expected), "{id}");
    }
    let verdict = Verdict::Saved("new".into());
    assert_eq!(settled(&mut diffs).last(), Some(&(call(FIRST, 5), verdict)));
}

#[test]
fn numbers_are_never_used_twice() {
    let mut diffs = Diffs::new();
    let first = open(&mut diffs, call(FIRST, 1), "tab");
    diffs.cancel(call(FIRST, 1));
    let second = open(&mut diffs, call(FIRST, 2), "tab");
    assert_eq!((first.to_string().as_str(), second.to_string().as_str()), ("#1", "#2"));
    let gone = Err(NotSettled::Ended(EndedBy::Agent));
    assert_eq!(diffs.settle(first, Verdict::Rejected), gone, "the old number names nothing");
}

#[test]
fn proposals_are_kept_byte_for_byte() {
    let contents = "\u{feff}one\r\ntwo\nthree\rfour\0\u{2028}\n";
    let mut diffs = Diffs::new();
    let id = diffs.open(call(FIRST, 1), proposal("tab", contents), 7).expect("there is room");
    let diff = diffs.get(id).expect("it waits");
    assert_eq!((diff.proposal.new_contents.as_str(), diff.opened_at), (contents, 7));
}

#[test]
fn a_hint_is_one_line_and_cut() {
    let mut diffs = Diffs::new();
    open(&mut diffs, call(FIRST, 1), "✻ [Claude Code] a.rs (d78a97) ⧉");
    let Some(Output::Waiting { hint, .. }) = diffs.poll_output() else { panic!("it waits") };
    let expected = "diff #1 waits: \"✻ [Claude Code] a.rs (d78a97) ⧉\"; \
                    footbridge review shows it, Claude Code's prompt too";
    assert_eq!(hint, expected);
    open(&mut diffs, call(FIRST, 2), &format!("a\n\u{1b}[31m{}", "x".repeat(10_000)));
    let Some(Output::Waiting { hint, .. }) = diffs.poll_output() else { panic!("it waits") };
    assert!(!hint.contains(char::is_control) && hint.len() < 300, "{hint}");
}

#[test]
fn at_the_bounds_a_diff_is_refused_and_leaves_nothing() {
    let mut diffs = Diffs::new();
    let all = u64::try_from(DIFFS_MAX).expect("a small number");
    for serial in 0..all {
        open(&mut diffs, call(FIRST, serial), &serial.to_string());
    }
    outputs(&mut diffs);
    let more = call(FIRST, all);
    assert_eq!(diffs.open(more, proposal("one more", ""), 0), Err(Refusal::TooMany));
    assert_eq!((held_count(&diffs), outputs(&mut diffs).len()), (DIFFS_MAX, 0));
    let replaced = diffs.open(more, proposal("0", ""), 0);
    assert!(replaced.is_ok(), "a replacement needs no room");
    assert_eq!(settled(&mut diffs), [(call(FIRST, 0), Verdict::Rejected)]);

    let mut diffs = Diffs::new();
    let big = "x".repeat(PROPOSALS_BYTES_MAX / 2 + 1);
    let first = diffs.open(call(FIRST, 1), proposal("a", &big), 0);
    outputs(&mut diffs);
    assert_eq!(diffs.open(call(FIRST, 2), proposal("b", &big), 0), Err(Refusal::TooBig));
    assert_eq!((held_count(&diffs), outputs(&mut diffs).len()), (1, 0));
    assert!(first.is_ok() && diffs.open(call(FIRST, 3), proposal("a", &big), 0).is_ok());
}

#[test]
fn a_proposal_counts_whole_whichever_part_of_it_is_long() {
    let long = "x".repeat(PROPOSALS_BYTES_MAX / 2 + 1);
    let in_path = Proposal { old_path: long.clone().into(), ..proposal("path", "") };
    let in_name = proposal(&long, "");
    for part in [proposal("contents", &long), in_path, in_name.clone()] {
        let mut diffs = Diffs::new();
        let first = diffs.open(call(FIRST, 1), proposal("first", &long), 0);
        assert!(first.is_ok());
        assert_eq!(diffs.open(call(FIRST, 2), part, 0), Err(Refusal::TooBig));
    }
    // The call that is held for it keeps the name as well.
    assert_eq!(Diffs::new().open(call(FIRST, 1), in_name, 0), Err(Refusal::TooBig));
}
