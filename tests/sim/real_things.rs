//! What only the real kernel can show: children, files, descriptors, sockets in numbers.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};

use footbridge::effect::{Command, FileError};
use footbridge::reactor::sys::real::RealKernel;
use footbridge::reactor::{Event, Exit, Kernel, Signal};

use crate::world::{Name, Real, Received, Stage};

/// The answer to one read of a file.
#[track_caller]
fn check_file(path: &std::path::Path, bytes_max: u64, expected: Result<usize, FileError>) {
    let mut stage = Stage::<Real>::new();
    stage.reactor.read_file(Name("file"), path, bytes_max);
    let mut answers = Vec::new();
    stage.run(|_, event| match event {
        Event::File { result, .. } => answers.push(result.map(|bytes| bytes.len())),
        other => panic!("{other:?}"),
    });
    assert_eq!(answers, [expected], "{}", path.display());
}

#[test]
fn files_are_read_inline_or_by_a_worker_and_refused_by_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("small"), b"contents").unwrap();
    fs::write(path("large"), vec![b'x'; 3 << 20]).unwrap();
    fs::write(path("empty"), b"").unwrap();
    check_file(&path("small"), 8, Ok(8));
    check_file(&path("small"), 7, Err(FileError::TooBig { bytes: 8 }));
    check_file(&path("large"), 4 << 20, Ok(3 << 20));
    check_file(&path("large"), 2 << 20, Err(FileError::TooBig { bytes: 3 << 20 }));
    check_file(&path("empty"), 0, Ok(0));
    check_file(&path("none"), 9, Err(FileError::NotFound));
    check_file(&path("small/none"), 9, Err(FileError::NotFound));
    check_file(folder.path(), 9, Err(FileError::IsFolder));
}

#[test]
fn a_read_that_was_given_up_is_not_told_and_keeps_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    fs::write(&path, vec![b'x'; 3 << 20]).unwrap();
    let mut stage = Stage::<Real>::new();
    // Far more than run at once: all but the first few never begin.
    for _ in 0..10_000 {
        stage.reactor.read_file(Name("gone"), &path, 4 << 20);
        stage.reactor.give_up_reads(Name("gone"));
    }
    stage.reactor.read_file(Name("kept"), &path, 4 << 20);
    stage.run(|stage, event| match event {
        Event::File { owner, result } => {
            stage.see(format!("{}:{:?}", owner.0, result.map(|bytes| bytes.len())));
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), "kept:Ok(3145728)");
}

#[cfg(unix)]
#[test]
fn a_fifo_or_device_is_refused_without_waiting_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    check_file(&fifo, 9, Err(FileError::NotRegular));
    check_file("/dev/zero".as_ref(), 9, Err(FileError::NotRegular));
}

#[cfg(unix)]
fn exit_of(argv: &[&str], cwd: Option<&std::path::Path>) -> Exit {
    let mut stage = Stage::<Real>::new();
    let command = Command { argv: argv.iter().map(Into::into).collect(), cwd: cwd.map(Into::into) };
    let process = stage.reactor.spawn(Name("child"), &command).unwrap();
    let mut exit = None;
    stage.run(|_, event| match event {
        Event::Exited { process: ended, status, .. } => {
            assert_eq!(ended, process);
            exit = Some(status);
        }
        other => panic!("{other:?}"),
    });
    exit.unwrap()
}

#[cfg(unix)]
#[test]
fn children_end_in_events_with_their_status() {
    assert_eq!(exit_of(&["true"], None), Exit::Code(0));
    assert_eq!(exit_of(&["sh", "-c", "exit 7"], None), Exit::Code(7));
    assert_eq!(exit_of(&["sh", "-c", "kill -9 $$"], None), Exit::Signal(9));
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(exit_of(&["sh", "-c", "touch here"], Some(folder.path())), Exit::Code(0));
    assert!(folder.path().join("here").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_child_leads_its_own_session_and_inherits_no_descriptor() {
    let folder = tempfile::tempdir().unwrap();
    let script = "cut -d' ' -f6 /proc/self/stat > session; echo $$ > pid; ls /proc/self/fd > fds";
    exit_of(&["sh", "-c", script], Some(folder.path()));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("session"), read("pid"));
    // 0, 1 and 2, and the one `ls` reads the folder by.
    assert_eq!(read("fds").split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
}

#[test]
fn a_program_that_is_not_there_is_an_error_and_nothing_is_left() {
    let mut stage = Stage::<Real>::new();
    for argv in [vec![], vec!["/no/such/program".into()]] {
        let command = Command { argv, cwd: None };
        assert!(stage.reactor.spawn(Name("child"), &command).is_err());
    }
    stage.run(|_, event| panic!("{event:?}"));
}

#[test]
fn file_operations_keep_their_promises() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut kernel = RealKernel::new().unwrap();
    kernel.create_dir_all(&path("a/b"), 0o700).unwrap();
    kernel.create_new(&path("a/two"), 0o600, b"2").unwrap();
    assert!(kernel.create_new(&path("a/two"), 0o600, b"3").is_err());
    kernel.hard_link(&path("a/two"), &path("a/one")).unwrap();
    assert!(kernel.hard_link(&path("a/two"), &path("a/one")).is_err());
    assert_eq!(kernel.read_dir(&path("a")).unwrap(), ["b", "one", "two"]);
    kernel.rename(&path("a/two"), &path("a/one")).unwrap();
    kernel.remove_file(&path("a/one")).unwrap();
    assert_eq!(kernel.read_file(&path("a/one"), 9), Err(FileError::NotFound));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path("a/b")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}

#[test]
fn a_held_file_is_held_by_one_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("held");
    let mut kernel = RealKernel::new().unwrap();
    let mut held = kernel.hold(&path, 0o600).unwrap().unwrap();
    assert!(kernel.hold(&path, 0o600).unwrap().is_none());
    held.replace(b"a longer text").unwrap();
    held.replace(b"short").unwrap();
    assert_eq!(kernel.read_file(&path, 99).unwrap(), b"short");
    drop(held);
    assert!(kernel.hold(&path, 0o600).unwrap().is_some());
}

#[test]
fn the_process_itself_is_alive_and_knows_its_limit() {
    let mut kernel = RealKernel::new().unwrap();
    let pid = kernel.pid();
    assert!(kernel.is_alive(pid));
    let limit = kernel.raise_descriptor_limit();
    assert!(limit >= 256);
    assert_eq!(kernel.raise_descriptor_limit(), limit);
    #[cfg(unix)]
    assert!(!kernel.is_alive(0) && !kernel.is_alive(u32::MAX));
}

#[cfg(unix)]
#[test]
fn a_signal_becomes_an_event() {
    use rustix::process::{Signal as Number, getpid, kill_process};
    let mut stage = Stage::<Real>::new();
    stage.reactor.watch_signals(Name("signals")).unwrap();
    kill_process(getpid(), Number::HUP).unwrap();
    stage.run(|stage, event| match event {
        Event::Signal { signal, .. } => {
            assert_eq!(signal, Signal::HangUp);
            stage.reactor.stop();
        }
        other => panic!("{other:?}"),
    });
}

/// Set in the process that runs out of descriptors, so that the tests beside it do not.
#[cfg(unix)]
const STARVED: &str = "FOOTBRIDGE_SIM_STARVED";

#[cfg(unix)]
#[test]
fn out_of_descriptors_waiting_connections_are_shed() {
    if std::env::var_os(STARVED).is_some() {
        return shed_when_starved();
    }
    let name = "real_things::out_of_descriptors_waiting_connections_are_shed";
    let mut itself = std::process::Command::new(std::env::current_exe().unwrap());
    let output = itself.args(["--exact", name]).env(STARVED, "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

#[cfg(unix)]
fn shed_when_starved() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let mut stage = Stage::<Real>::new();
    let (_, port) = stage.listen();
    let peers = [(); 3].map(|()| stage.connect(port));
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(512), maximum }).unwrap();
    let mut fillers: Vec<fs::File> =
        std::iter::from_fn(|| fs::File::open("/dev/null").ok()).collect();
    assert!(fillers.len() > 100);
    stage.run(|stage, event| match event {
        Event::AcceptFailed { .. } => {
            stage.see("failed");
            fillers.clear();
            stage.connect(port);
        }
        Event::Accepted { .. } => {
            stage.see("accepted");
            stage.reactor.stop();
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(stage.log(), "failed accepted");
    // As in libuv's trace: no connection event, and each peer sees the end.
    assert!(peers.iter().all(|&peer| stage.receive(peer, 1) == Received::End));
}

/// Each connection says one byte and hangs up; after all of them no descriptor is left over.
#[cfg(target_os = "linux")]
#[test]
fn a_thousand_connections_leave_no_descriptor_behind() {
    let mut stage = Stage::<Real>::new();
    let (_, port) = stage.listen();
    let (mut begun, mut closed) = (0, 0);
    let connect = || {
        let mut peer = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        peer.write_all(b"x").unwrap();
    };
    let before = sockets_of_port(port);
    connect();
    stage.run(|stage, event| match event {
        Event::Data { .. } | Event::Accepted { .. } => {}
        Event::End { stream, .. } => stage.reactor.close(stream),
        Event::Closed { .. } => {
            closed += 1;
            begun += 1;
            match begun {
                1000 => stage.reactor.stop(),
                _ => connect(),
            }
        }
        other => panic!("{other:?}"),
    });
    assert_eq!((closed, before), (1000, 1));
    assert_eq!(sockets_of_port(port), 1, "the listener alone");
}

/// Our open sockets with that local port, so that tests beside this one do not count.
#[cfg(target_os = "linux")]
fn sockets_of_port(port: u16) -> usize {
    let table = fs::read_to_string("/proc/self/net/tcp").unwrap();
    let port = format!(":{port:04X}");
    let inodes: Vec<String> = table
        .lines()
        .filter(|line| line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&port)))
        .filter_map(|line| line.split_whitespace().nth(9).map(|inode| format!("socket:[{inode}]")))
        .collect();
    let links = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let targets = links.filter_map(|link| fs::read_link(link.path()).ok());
    targets.filter(|target| inodes.iter().any(|inode| target.as_os_str() == inode.as_str())).count()
}
