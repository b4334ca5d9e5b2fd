use super::*;

/// A machine: its environment, its files, and which folders exist under which physical path.
struct Machine {
    env: Vec<(&'static str, &'static str)>,
    files: Vec<(&'static str, &'static str)>,
}

const USUAL: &str = "/h/.config/footbridge/config.json";

fn machine() -> Machine {
    Machine { env: vec![("HOME", "/h")], files: Vec::new() }
}

impl Machine {
    fn env(mut self, name: &'static str, value: &'static str) -> Machine {
        self.env.insert(0, (name, value));
        self
    }

    fn file(mut self, path: &'static str, text: &'static str) -> Machine {
        self.files.push((path, text));
        self
    }

    /// Options from flags written as on the command line.
    fn resolve(&self, flags: &[&str]) -> Result<ServeOptions, String> {
        let mut settings: BTreeMap<&'static str, Setting> = BTreeMap::new();
        let mut words = flags.iter();
        while let Some(word) = words.next() {
            let name = word.strip_prefix("--").expect("rows hold flags");
            let flag = crate::config::flag::find(name).expect("rows hold known flags");
            if flag.kind == crate::config::flag::Kind::Switch {
                settings.insert(flag.name, Setting::Switch(true));
                continue;
            }
            let value = OsString::from(words.next().expect("rows hold values"));
            let empty = Setting::Values(Vec::new());
            match settings.entry(flag.name).or_insert(empty) {
                Setting::Values(values) => values.push(value),
                Setting::Switch(_) => unreachable!("values only"),
            }
        }
        let around = Surroundings {
            env: &|name| {
                let found = self.env.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| OsString::from(value))
            },
            current_folder: Path::new("/w/link"),
            read_file: &|path| {
                let found = self.files.iter().find(|(name, _)| Path::new(name) == path);
                found
                    .map(|(_, text)| text.as_bytes().to_vec())
                    .ok_or(io::ErrorKind::NotFound.into())
            },
            physical_folder: &|path| match lock_file::normalise(path).to_str() {
                Some("/w/link") => Ok(PathBuf::from("/data/a")),
                Some("/w/b") => Ok(PathBuf::from("/w/b")),
                Some(_) | None => Err(io::ErrorKind::NotFound.into()),
            },
        };
        ServeOptions::resolve(settings, &around).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn accepts(&self, flags: &[&str]) -> ServeOptions {
        self.resolve(flags).unwrap_or_else(|error| panic!("{flags:?}: {error}"))
    }

    #[track_caller]
    fn refuses(&self, flags: &[&str], expected: &str) {
        assert_eq!(self.resolve(flags).map(|_| ()), Err(expected.to_owned()), "{flags:?}");
    }
}

#[cfg(unix)]
fn workspace(given: &str, physical: &str) -> Workspace {
    Workspace { given: PathBuf::from(given), physical: PathBuf::from(physical) }
}

#[cfg(unix)]
#[test]
fn nothing_given_means_the_defaults() {
    let options = machine().accepts(&[]);
    let state_folder = options.state_folder.clone().unwrap();
    assert!(state_folder.starts_with("/h/.local/state/footbridge"), "{state_folder:?}");
    let expected = ServeOptions {
        workspaces: vec![workspace("/w/link", "/data/a")],
        ports: Ports { first: 10_000, last: 65_535 },
        bind: "127.0.0.1".parse().unwrap(),
        credential: Credential::Remembered,
        allow_hosts: Vec::new(),
        allow_origins: Vec::new(),
        connections_max: 1024,
        ping_interval_ms: Some(30_000),
        is_masking_strict: false,
        ide_name: "footbridge".to_owned(),
        lock_folder: Some(PathBuf::from("/h/.claude/ide")),
        lock_pid: LockPid::Own,
        is_joining: false,
        open_command: None,
        log_level: LevelFilter::Info,
        state_folder: Some(state_folder),
        settings_file: None,
        warnings: Vec::new(),
    };
    assert_eq!(options, expected);
}

#[cfg(unix)]
#[test]
fn flags_win_over_environment_over_file_over_default() {
    let machine = machine()
        .env("FOOTBRIDGE_PORT", "2")
        .env("FOOTBRIDGE_IDE_NAME", "from env")
        .env("FOOTBRIDGE_LOG", "")
        .env("FOOTBRIDGE_STRICT_MASKING", "off")
        .file(
            USUAL,
            r#"{"port":3,"ide-name":"from file","ping-interval":0.5,"log":"debug",
                "strict-masking":true,"join":true,"allow-host":["a","b:1"]}"#,
        );
    let options = machine.accepts(&["--port", "1"]);
    assert_eq!(options.ports, Ports { first: 1, last: 1 });
    assert_eq!(options.ide_name, "from env");
    assert_eq!(options.ping_interval_ms, Some(500));
    assert_eq!(options.log_level, LevelFilter::Debug);
    assert_eq!((options.is_masking_strict, options.is_joining), (false, true));
    assert_eq!(options.allow_hosts.len(), 2);
    assert_eq!(options.settings_file, Some(PathBuf::from(USUAL)));
    assert_eq!(machine.accepts(&["--allow-host", "c"]).allow_hosts.len(), 1);
}

#[cfg(unix)]
#[test]
fn the_settings_file_is_named_or_usual_and_never_in_the_project() {
    let found = |machine: Machine, flags: &[&str]| machine.accepts(flags).settings_file;
    let project = machine().file("/w/link/config.json", "{\"no-auth\":true}");
    assert_eq!(found(project, &[]), None);
    let named =
        || machine().file("/n", "{}").file(USUAL, "{}").file("/x/footbridge/config.json", "{}");
    assert_eq!(found(named(), &[]), Some(PathBuf::from(USUAL)));
    assert_eq!(found(named(), &["--config", "/n"]), Some(PathBuf::from("/n")));
    assert_eq!(found(named().env("FOOTBRIDGE_CONFIG", "/n"), &[]), Some(PathBuf::from("/n")));
    let xdg = named().env("XDG_CONFIG_HOME", "/x");
    assert_eq!(found(xdg, &[]), Some(PathBuf::from("/x/footbridge/config.json")));
    let relative = named().env("XDG_CONFIG_HOME", "x");
    assert_eq!(found(relative, &[]), Some(PathBuf::from(USUAL)));
    machine().refuses(&["--config", "/n"], "cannot read /n: entity not found");
}

#[test]
fn mistakes_in_the_settings_file_are_named() {
    let rows = [
        ("[]", "/n is no JSON object: it holds an array"),
        ("", "/n is no JSON object: EOF while parsing a value at line 1 column 0"),
        (r#"{"prot":1}"#, "unknown key \"prot\" in /n, did you mean \"port\"?"),
        (
            r#"{"pingInterval":1}"#,
            "unknown key \"pingInterval\" in /n, did you mean \"ping-interval\"?",
        ),
        (r#"{"zzz\n":1}"#, "unknown key \"zzz\\n\" in /n"),
        (r#"{"config":"/m"}"#, "unknown key \"config\" in /n"),
        (r#"{"port":true}"#, "\"port\" in /n must be a string or a number, not true or false"),
        (r#"{"port":[1]}"#, "\"port\" in /n must be a string or a number, not an array"),
        (r#"{"join":"yes"}"#, "\"join\" in /n must be true or false, not a string"),
        (
            r#"{"workspace":[{}]}"#,
            "\"workspace\" in /n must be a string or an array of strings, not an array",
        ),
        (
            r#"{"port":0.5}"#,
            "\"port\" in /n must be a port or a range such as 10000-20000, not \"0.5\"",
        ),
    ];
    for (text, expected) in rows {
        machine().file("/n", text).refuses(&["--config", "/n"], expected);
    }
}

#[test]
fn values_that_do_not_fit_are_named_with_their_place() {
    let port = "must be a port or a range such as 10000-20000, not";
    machine().refuses(&["--port", "x"], &format!("--port {port} \"x\""));
    machine().env("FOOTBRIDGE_PORT", "x").refuses(&[], &format!("FOOTBRIDGE_PORT {port} \"x\""));
    machine()
        .env("FOOTBRIDGE_JOIN", "maybe")
        .refuses(&[], "FOOTBRIDGE_JOIN must be 1 or 0, not \"maybe\"");
    let long: &str = &"y".repeat(100);
    machine().refuses(
        &["--bind", long],
        &format!("--bind must be an address such as 127.0.0.1, not \"{}…\"", "y".repeat(60)),
    );
    for text in ["-1", "86401", "nan", "inf", "", "x", "1s"] {
        let expected = format!("--ping-interval must be seconds, 0 to 86400, not \"{text}\"");
        machine().refuses(&["--ping-interval", text], &expected);
    }
    for text in ["0", "65537", "x", "-1"] {
        let expected = format!("--max-connections must be 1 to 65536, not \"{text}\"");
        machine().refuses(&["--max-connections", text], &expected);
    }
    machine().refuses(&["--pid", "0"], "--pid must be a process id, not \"0\"");
    machine().refuses(
        &["--allow-origin", "https://a.example", "--allow-origin", "null"],
        "--allow-origin must be an origin such as https://app.example, not \"null\"",
    );
    machine()
        .refuses(&["--allow-host", "a b"], "--allow-host must be a host or host:port, not \"a b\"");
    machine().refuses(
        &["--ide-name", "a\u{1b}[2J"],
        "--ide-name must be 1 to 100 printable characters, not \"a\\u{1b}[2J\"",
    );
}

#[test]
fn ports_and_intervals_are_read_as_written() {
    let rows = [
        ("0", Some((0, 0))),
        ("1", Some((1, 1))),
        ("65535", Some((65535, 65535))),
        ("10000-20000", Some((10_000, 20_000))),
        ("5-5", Some((5, 5))),
        ("0-5", None),
        ("6-5", None),
        ("65536", None),
        ("+1", None),
        ("1-", None),
        ("-1", None),
        ("1-2-3", None),
        ("", None),
    ];
    for (text, expected) in rows {
        assert_eq!(Ports::parse(text).map(|ports| (ports.first, ports.last)), expected, "{text}");
    }
    for (text, expected) in
        [("0", None), ("0.0", None), ("0.05", Some(50)), ("1e-9", Some(1)), ("2.5", Some(2500))]
    {
        assert_eq!(interval(text), Some(expected), "{text}");
    }
}

#[test]
fn one_credential_is_chosen_by_the_highest_layer_that_names_one() {
    let given = |text: &str| Credential::Given(Token::new(text).unwrap());
    let machine = || {
        machine()
            .file("/t", "from-a-file\n")
            .file(USUAL, r#"{"token":"from-config"}"#)
            .file("/bad", "short\n")
    };
    assert_eq!(machine().accepts(&[]).credential, given("from-config"));
    assert_eq!(machine().accepts(&["--no-auth"]).credential, Credential::Open);
    assert_eq!(machine().accepts(&["--token-file", "/t"]).credential, given("from-a-file"));
    let env = || machine().env("FOOTBRIDGE_TOKEN", "from-the-env");
    assert_eq!(env().accepts(&[]).credential, given("from-the-env"));
    assert_eq!(env().accepts(&["--token", "from-a-flag"]).credential, given("from-a-flag"));
    assert_eq!(env().env("FOOTBRIDGE_NO_AUTH", "0").accepts(&[]).credential, given("from-the-env"));
    machine().refuses(
        &["--token", "from-a-flag", "--no-auth"],
        "--token and --no-auth exclude each other: give one",
    );
    env()
        .env("FOOTBRIDGE_TOKEN_FILE", "/t")
        .refuses(&[], "FOOTBRIDGE_TOKEN and FOOTBRIDGE_TOKEN_FILE exclude each other: give one");
    machine()
        .refuses(&["--token", "secret!"], "--token: a token has 10 to 500 characters, this one 7");
    machine().refuses(
        &["--token", "a secret in words"],
        "--token: a token is made of visible ASCII characters, without spaces",
    );
    machine().refuses(
        &["--token-file", "/bad"],
        "--token-file: a token has 10 to 500 characters, this one 5",
    );
    machine().refuses(&["--token-file", "/none"], "cannot read /none: entity not found");
}

#[test]
fn strangers_get_in_only_on_purpose() {
    let needs_token = "--bind beyond loopback needs a token of yours: give --token or --token-file";
    let loopback_only = "--no-auth is for loopback only: drop it or drop --bind";
    for bind in ["0.0.0.0", "192.168.1.5", "::", "fe80::1"] {
        machine().refuses(&["--bind", bind], needs_token);
        machine().refuses(&["--bind", bind, "--no-auth"], loopback_only);
        let warnings = machine().accepts(&["--bind", bind, "--token", "0123456789"]).warnings;
        assert!(warnings[0].contains("put TLS in front"), "{warnings:?}");
        assert_eq!(warnings.len(), 2, "{warnings:?}");
    }
    for bind in ["127.0.0.1", "localhost"] {
        assert_eq!(machine().accepts(&["--bind", bind]).warnings, [""; 0]);
    }
    let warnings = machine().accepts(&["--bind", "::1"]).warnings;
    assert!(warnings.len() == 1 && warnings[0].contains("Claude Code looks"), "{warnings:?}");
    let warnings = machine().accepts(&["--no-auth"]).warnings;
    assert!(warnings.len() == 1 && warnings[0].contains("every user"), "{warnings:?}");
}

#[cfg(unix)]
#[test]
fn workspaces_are_folders_listed_once() {
    let options =
        machine().accepts(&["--workspace", ".", "--workspace", "/w//b/", "--workspace", "/w/b"]);
    assert_eq!(options.workspaces, [workspace("/w/link", "/data/a"), workspace("/w/b", "/w/b")]);
    let options = machine().env("FOOTBRIDGE_WORKSPACE", "/w/b:/w/link").accepts(&[]);
    assert_eq!(options.workspaces, [workspace("/w/b", "/w/b"), workspace("/w/link", "/data/a")]);
    machine().refuses(
        &["--workspace", "/w/none"],
        "--workspace must be a folder (entity not found), not \"/w/none\"",
    );
}

#[cfg(unix)]
#[test]
fn the_lock_file_has_a_place_or_is_switched_off() {
    let homeless = || Machine { env: Vec::new(), files: Vec::new() };
    homeless().refuses(
        &[],
        "no folder for the lock file: neither CLAUDE_CONFIG_DIR nor HOME is set; \
         set CLAUDE_CONFIG_DIR to an absolute path, or give --no-lock-file",
    );
    let options = homeless().accepts(&["--no-lock-file"]);
    assert_eq!((options.lock_folder, options.state_folder), (None, None));
    assert_eq!(options.warnings, ["no home folder: port and token will change at each start"]);
    let options = machine().env("CLAUDE_CONFIG_DIR", "/c").accepts(&["--no-pid"]);
    assert_eq!(options.lock_folder, Some(PathBuf::from("/c/ide")));
    assert_eq!(options.lock_pid, LockPid::Absent);
    assert_eq!(machine().accepts(&["--pid", "7"]).lock_pid, LockPid::Given(7));
    machine()
        .refuses(&["--pid", "7", "--no-pid"], "--pid and --no-pid exclude each other: give one");
}

#[test]
fn the_open_command_is_split_once() {
    let options = machine().accepts(&["--open-command", "hx '{file}:{line}'"]);
    let argv = options.open_command.unwrap().argv(Path::new("/a b"), 2, 1);
    assert_eq!(argv, ["hx", "/a b:2"]);
    machine().refuses(
        &["--open-command", "hx"],
        "--open-command must be a command line with {file}; this one has no {file}, not \"hx\"",
    );
}
