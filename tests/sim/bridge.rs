//! The whole bridge on the simulated kernel: files, clients, tools and timers together.
//!
//! What each part does is tested beside it; here is what only their joints can break.

use footbridge::bridge::{Bridge, NotRunning, StartError};
use footbridge::config::options::{Ports, ServeOptions};
use footbridge::proto::ws::close::{CloseCode, CloseFrame};
use footbridge::reactor::{Kernel, Signal};
use serde_json::json;

use crate::disk::Disk;
use crate::kernel::{Received, SimKernel};

mod harness;
mod keepalive;
mod splits;

use harness::{Guest, LOCKS, STATE, Site, options};

const HALF_A_DAY_MS: u64 = 12 * 60 * 60 * 1_000;

fn diff(tab_name: &str) -> serde_json::Value {
    json!({
        "old_file_path": "/work/real/a",
        "new_file_path": "/work/real/a",
        "new_file_contents": "new\n",
        "tab_name": tab_name,
    })
}

fn normal() -> CloseFrame {
    CloseFrame { code: Some(CloseCode::NORMAL), reason: "bye".into() }
}

#[test]
fn a_session_from_the_lock_file_to_the_close() {
    let mut site = Site::start(&options());
    let lock = site.lock();
    assert_eq!(lock["workspaceFolders"], json!(["/work/link", "/work/real"]));
    assert_eq!((&lock["pid"], &lock["transport"]), (&json!(4711), &json!("ws")));
    assert_eq!(site.disk.mode(site.lock_path()), Some(0o600));
    assert_eq!(site.disk.mode(LOCKS), Some(0o700));

    let mut guest = Guest::initialized(&mut site);
    let tools = guest.ask(&mut site, json!({"id": 1, "method": "tools/list"}));
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.contains(&"openDiff") && names.contains(&"close_tab"), "{names:?}");

    guest.call(&mut site, 2, "openDiff", diff("tab"));
    site.live_for(&mut [&mut guest], 600);
    assert_eq!((guest.texts(2), guest.pings), (None, 20), "held, and pinged every 30 s");
    guest.call(&mut site, 3, "close_tab", json!({"tab_name": "tab"}));
    site.settle();
    guest.read(&mut site, usize::MAX);
    assert_eq!(guest.texts(2).unwrap(), ["DIFF_REJECTED", "tab"]);
    assert_eq!(guest.texts(3).unwrap(), ["TAB_CLOSED"]);

    guest.close(&mut site, &normal());
    site.settle();
    guest.read(&mut site, usize::MAX);
    assert_eq!(guest.closed.take(), Some(CloseFrame { reason: String::new(), ..normal() }));
    guest.read(&mut site, usize::MAX);
    assert!(guest.has_ended, "half-closed behind its Close");
    guest.finish(&mut site);
    site.settle();
    assert_eq!(site.kernel().open_objects(), 1, "the listener alone");

    let lock_path = site.lock_path();
    site.kernel().raise(Signal::Terminate);
    site.settle();
    assert!(site.has_ended(), "nobody is there to wait for");
    assert_eq!(site.bridge.stop(), Ok(()));
    assert_eq!(site.disk.text(lock_path), None);
    assert_eq!(site.disk.read_dir(LOCKS.as_ref()).unwrap(), [""; 0], "no temporary file either");
}

#[test]
fn what_a_client_held_goes_with_it() {
    let mut site = Site::start(&options());
    // Together far more than may wait at once.
    for _ in 0..20 {
        let mut guest = Guest::initialized(&mut site);
        for id in 1..=32 {
            guest.call(&mut site, id, "openDiff", diff(&id.to_string()));
        }
        guest.call(&mut site, 33, "getWorkspaceFolders", json!({}));
        site.settle();
        guest.read(&mut site, usize::MAX);
        assert!(guest.texts(33).is_some());
        assert_eq!((1..=32).find(|&id| guest.texts(id).is_some()), None, "all are held");
        guest.finish(&mut site);
        site.settle();
    }
    assert_eq!(site.kernel().open_objects(), 1, "the listener alone");
}

#[test]
fn a_second_start_and_a_second_stop_are_refused() {
    let mut site = Site::start(&options());
    let again = site.bridge.start(SimKernel::new(1), &options()).unwrap_err();
    assert_eq!(again.to_string(), "Server already running");
    assert_eq!(site.bridge.stop(), Ok(()));
    assert_eq!(site.bridge.stop().map_err(|error| error.to_string()), not_running());
    assert!(site.bridge.kernel().is_none() && site.bridge.status().is_none());
    let mut fresh = Bridge::<SimKernel>::default();
    assert_eq!(fresh.stop(), Err(NotRunning));
    assert_eq!(fresh.run().map_err(|error| error.to_string()), not_running());
    let status = site.bridge.start(SimKernel::new(2), &options()).unwrap();
    assert_eq!(site.bridge.status().map(|running| running.port), Some(status.port));
}

fn not_running() -> Result<(), String> {
    Err("Server not running".into())
}

#[test]
fn a_workspace_has_one_bridge_and_the_next_has_its_port_and_token() {
    let mut first = Site::start(&options());
    let disk = first.disk.clone();
    let refusal = Site::start_on(disk.clone(), &options()).err().unwrap();
    let StartError::Served(Some(record)) = refusal else { panic!("{refusal}") };
    assert_eq!((record.port, record.pid), (first.port, 4711));
    assert_eq!(disk.read_dir(LOCKS.as_ref()).unwrap().len(), 1, "never a second lock");
    let token = first.lock()["authToken"].clone();
    assert_eq!(disk.mode(format!("{STATE}/token")), Some(0o600));
    assert_eq!(disk.mode(STATE), Some(0o700));
    first.bridge.stop().unwrap();

    let second = Site::start_on(disk, &options()).unwrap();
    assert_eq!((second.port, &second.lock()["authToken"]), (first.port, &token));
}

#[test]
fn a_start_that_fails_leaves_nothing_behind() {
    let disk = Disk::default();
    let only = ServeOptions { ports: Ports { first: 4_000, last: 4_000 }, ..options() };
    disk.put(format!("{LOCKS}/4000.lock"), b"another program's");
    let refusal = Site::start_on(disk.clone(), &only).err().unwrap();
    assert!(matches!(refusal, StartError::Lock { .. }), "{refusal}");
    assert_eq!(disk.text(format!("{LOCKS}/4000.lock")).unwrap(), "another program's");
    assert_eq!(disk.read_dir(LOCKS.as_ref()).unwrap(), ["4000.lock"]);
    let elsewhere = ServeOptions { ports: Ports { first: 4_001, last: 4_001 }, ..options() };
    assert_eq!(Site::start_on(disk, &elsewhere).unwrap().port, 4_001, "nobody holds the state");
}

#[test]
fn the_lock_is_written_anew_every_half_day_and_whenever_it_is_gone() {
    let mut site = Site::start(&options());
    let path = site.lock_path();
    let first = site.lock();
    site.run_for(HALF_A_DAY_MS - 1);
    assert_eq!(site.lock(), first);
    site.run_for(1);
    let second = site.lock();
    let age_ms = second["startedAt"].as_u64().unwrap() - first["startedAt"].as_u64().unwrap();
    assert_eq!((age_ms, &second["nonce"]), (HALF_A_DAY_MS, &first["nonce"]));
    assert_eq!(site.disk.mode(&path), Some(0o600));

    let upgrade = site.upgrade();
    site.disk.remove_file(&path).unwrap();
    let mut guest = Guest::connect(&mut site);
    guest.send_bytes(&mut site, upgrade.as_bytes());
    site.settle();
    assert_eq!(site.lock(), second, "a connect finds it missing");
    site.disk.remove_file(&path).unwrap();
    site.live_for(&mut [&mut guest], 30);
    assert_eq!(site.lock(), second, "so does a tick");

    site.disk.put(&path, b"another program's");
    site.live_for(&mut [&mut guest], 60);
    site.run_for(HALF_A_DAY_MS);
    site.bridge.stop().unwrap();
    assert_eq!(site.disk.text(&path).unwrap(), "another program's", "not ours to touch");
    assert_eq!(site.disk.read_dir(LOCKS.as_ref()).unwrap().len(), 1);
}

#[test]
fn a_shortage_of_descriptors_turns_newcomers_away_and_nobody_else() {
    let mut site = Site::start(&options());
    let mut guest = Guest::initialized(&mut site);
    site.kernel().faults.out_of_descriptors = true;
    let port = site.port;
    let strangers: Vec<_> = (0..20).map(|_| site.kernel().connect(port).unwrap()).collect();
    site.run_for(100);
    for stranger in strangers {
        let told = site.kernel().receive(stranger, 100);
        assert!(matches!(told, Received::End | Received::Reset), "{told:?}");
    }
    let answer = guest.ask(&mut site, json!({"id": 1, "method": "ping"}));
    assert_eq!(answer["result"], json!({}));
    site.kernel().faults.out_of_descriptors = false;
    let mut second = Guest::initialized(&mut site);
    second.ask(&mut site, json!({"id": 1, "method": "ping"}));
    assert!(site.kernel().polls.len() < 200, "no busy loop: {}", site.kernel().polls.len());
}

#[test]
fn a_stop_tells_everyone_and_waits_a_second_at_most() {
    let mut site = Site::start(&options());
    let mut reader = Guest::initialized(&mut site);
    reader.call(&mut site, 1, "openDiff", diff("tab"));
    let mut upgrading = Guest::connect(&mut site);
    let deaf = Guest::initialized(&mut site);
    let stranger = Guest::connect(&mut site);
    site.settle();
    // The 101 cannot leave: everything happens within one turn.
    let upgrade = site.upgrade();
    upgrading.send_bytes(&mut site, upgrade.as_bytes());
    site.kernel().raise(Signal::Terminate);
    site.settle();
    for (guest, name) in [(&mut reader, "reader"), (&mut upgrading, "upgrading")] {
        guest.read(&mut site, usize::MAX);
        let closed = guest.closed.take().unwrap();
        assert_eq!(closed.code, Some(CloseCode::GOING_AWAY), "{name}");
        assert_eq!(closed.reason, "Server shutting down", "{name}");
        guest.finish(&mut site);
    }
    assert_eq!(reader.texts(1), None, "the prompt of a held call stays usable");
    let port = site.port;
    assert_eq!(site.kernel().connect(port), None, "nobody new comes in");
    assert!(!site.kernel().is_open(stranger.peer));
    site.run_for(999);
    assert!(!site.has_ended() && site.kernel().is_open(deaf.peer));
    site.run_for(1);
    assert!(site.has_ended());
    site.bridge.stop().unwrap();
    assert_eq!(site.disk.read_dir(LOCKS.as_ref()).unwrap(), [""; 0]);
}

#[test]
fn a_second_signal_ends_at_once() {
    let mut site = Site::start(&options());
    let _deaf = Guest::initialized(&mut site);
    site.kernel().raise(Signal::Interrupt);
    site.settle();
    assert!(!site.has_ended());
    let before = site.kernel().monotonic_ms();
    site.kernel().raise(Signal::Interrupt);
    site.settle();
    assert!(site.has_ended());
    assert_eq!(site.kernel().monotonic_ms(), before);
}
