//! One conversation, cut and timed at random: the same replies, each request answered once.
//!
//! The seed decides where the bytes are cut, what the loop does between two pieces, how much the
//! guest reads, and how much the kernel moves at a time. A failure names its seed.

use footbridge::reactor::Kernel;
use serde_json::{Value, json};

use super::harness::{Guest, Site, options};
use super::{diff, normal};
use crate::kernel::SimKernel;

const SEEDS: u64 = 100;

/// The request whose answer comes when its file is read, whatever else is answered meanwhile.
const READS_A_FILE: u64 = 20;

/// Numbers below a bound, from the kernel's own seeded randomness.
struct Dice(SimKernel);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        let mut bytes = [0; 8];
        self.0.fill_random(&mut bytes).unwrap();
        usize::try_from(u64::from_le_bytes(bytes) % below as u64).unwrap()
    }

    /// At least 1 and at most one of these.
    fn size(&mut self, most: &[usize]) -> usize {
        let most = most[self.roll(most.len())];
        1 + self.roll(most)
    }
}

/// A masked frame.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [0xa1, 0x00, 0xff, 0x5c];
    let mut bytes = vec![first];
    match payload.len() {
        len @ 0..126 => bytes.push(0x80 | len as u8),
        len @ 126..0x1_0000 => {
            bytes.push(0x80 | 126);
            bytes.extend((len as u16).to_be_bytes());
        }
        len => {
            bytes.push(0x80 | 127);
            bytes.extend((len as u64).to_be_bytes());
        }
    }
    bytes.extend(mask);
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

/// The frames of one message: whole, or in fragments with a ping between them.
fn message(mut message: Value, fragments: usize) -> Vec<u8> {
    message["jsonrpc"] = "2.0".into();
    let text = message.to_string().into_bytes();
    let pieces: Vec<&[u8]> = text.chunks(text.len().div_ceil(fragments)).collect();
    let mut bytes = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let opcode = if index == 0 { 1 } else { 0 };
        let is_last = index + 1 == pieces.len();
        bytes.extend(frame(if is_last { 0x80 | opcode } else { opcode }, piece));
        if !is_last {
            bytes.extend(frame(0x89, b"between"));
        }
    }
    bytes
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    json!({"id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

/// Everything the guest sends before it closes, and the ids that must be answered. The last of
/// them end with the last message, so that nothing is open then.
fn conversation() -> (Vec<u8>, Vec<Value>) {
    let client = json!({"name": "c", "version": "1"});
    let greeting =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    // Large enough to be read straight into its own buffer.
    let long_text = "é".repeat(40_000);
    let mut long_diff = diff("long");
    long_diff["new_file_contents"] = json!(long_text);
    let messages = [
        (json!({"id": 0, "method": "initialize", "params": greeting}), 1),
        (json!({"method": "notifications/initialized"}), 2),
        (json!({"method": "ide_connected", "params": {"pid": 1}}), 1),
        (json!({"id": 1, "method": "tools/list"}), 3),
        (json!({"id": "two", "method": "ping"}), 1),
        (json!({"id": 3, "method": "no/such"}), 1),
        (json!({"id": null, "method": "ping"}), 1),
        (call(4, "noSuchTool", json!({})), 1),
        (call(5, "openFile", json!({"filePath": 7})), 1),
        (call(6, "getWorkspaceFolders", json!({})), 2),
        (call(7, "openDiff", diff("ö")), 5),
        (call(8, "getOpenEditors", json!({})), 1),
        (call(9, "openDiff", long_diff), 4),
        (call(10, "openDiff", diff("cancelled")), 1),
        (json!({"method": "notifications/cancelled", "params": {"requestId": 10}}), 1),
        (call(11, "openDiff", diff("ö")), 1),
        (call(12, "close_tab", json!({"tab_name": "long"})), 7),
        (call(READS_A_FILE, "openFile", json!({"filePath": "/work/real/a"})), 1),
        (json!({"id": 13, "method": "prompts/list"}), 1),
        (call(14, "closeAllDiffTabs", json!({})), 1),
    ];
    let mut ids: Vec<Value> = messages.iter().map(|(message, _)| message["id"].clone()).collect();
    // Two notifications were no requests; the null id is one answered without an id of its own.
    ids.retain(|id| !id.is_null() && *id != json!(10));
    ids.push(Value::Null);
    let bytes = messages.into_iter().flat_map(|(json, fragments)| message(json, fragments));
    (bytes.collect(), ids)
}

/// What was answered: all but one in order, and that one.
type Replies = (Vec<String>, String);

fn run(seed: Option<u64>) -> Replies {
    let mut site = Site::start(&options());
    site.disk.put("/work/real/a", b"contents\n");
    let mut dice = Dice(SimKernel::new(seed.unwrap_or(0)));
    let mut guest = Guest::connect(&mut site);
    let (frames, ids) = conversation();
    let mut bytes = [site.upgrade().into_bytes(), frames].concat();
    if seed.is_none() {
        guest.send_bytes(&mut site, &bytes);
        bytes.clear();
    }
    while !bytes.is_empty() {
        // Mostly small pieces where the messages are small.
        let cut = dice.size(&[3, 40, 400, 100_000]).min(bytes.len());
        let piece: Vec<u8> = bytes.drain(..cut).collect();
        guest.send_bytes(&mut site, &piece);
        let faults = &mut site.kernel().faults;
        faults.read_bytes_max = dice.size(&[10, 1_000, 1_000_000]);
        faults.write_bytes_max = dice.size(&[10, 1_000, 1_000_000]);
        match dice.roll(8) {
            0..4 => {}
            4..7 => site.settle(),
            _ => site.run_for(1 + dice.roll(5) as u64),
        }
        guest.read(&mut site, 1 + dice.roll(50_000));
    }
    read_all(&mut site, &mut guest);
    let name = seed.map_or("whole".into(), |seed| format!("seed {seed}"));
    for id in &ids {
        // A notification has no id either, but a method.
        let of_id = guest.heard.iter().filter(|message| message.id == *id);
        let count = of_id.filter(|message| message.value()["method"].is_null()).count();
        assert_eq!(count, 1, "{name}: answers to {id}");
    }
    let replies = guest.heard.iter().filter(|message| message.value()["method"].is_null());
    let (late, in_order): (Vec<_>, Vec<_>) =
        replies.partition(|message| message.id == json!(READS_A_FILE));
    assert_eq!(in_order.len() + 1, ids.len(), "{name}: nobody else is answered");
    let texts = in_order.iter().map(|message| message.text.clone()).collect();
    let replies = (texts, late[0].text.clone());

    guest.close(&mut site, &normal());
    read_all(&mut site, &mut guest);
    assert_eq!(guest.closed.as_ref().and_then(|close| close.code), normal().code, "{name}");
    guest.read(&mut site, usize::MAX);
    assert!(guest.has_ended, "{name}");
    guest.finish(&mut site);
    site.settle();
    assert_eq!(site.kernel().open_objects(), 1, "{name}: the listener alone");
    replies
}

fn read_all(site: &mut Site, guest: &mut Guest) {
    site.settle();
    while guest.read(site, usize::MAX) > 0 {
        site.settle();
    }
}

#[test]
fn replies_are_the_same_however_the_bytes_are_cut() {
    let whole = run(None);
    for seed in 0..SEEDS {
        let replies = run(Some(seed));
        assert!(replies == whole, "seed {seed}:\n{replies:#?}\ninstead of\n{whole:#?}");
    }
}
