//! The flags of `serve`, each once: name, value, default, help.
//!
//! A flag `--like-this` is `FOOTBRIDGE_LIKE_THIS` in the environment and `"like-this"` in the
//! file. Help and the README's table are made from these rows, so they cannot drift.

/// One flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag {
    /// Without the dashes; also the key in the file.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Shown in help; empty when there is none to show.
    pub default: &'static str,
    /// One line.
    pub help: &'static str,
}

/// What a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: it is there or not.
    Switch,
    /// One value, with its name in help.
    One(&'static str),
    /// Several values, one a flag; in the environment separated as [`Separator`] says.
    Many(&'static str, Separator),
}

/// What stands between several values in one environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separator {
    /// A comma.
    Comma,
    /// As in `PATH`: a colon, on Windows a semicolon.
    PathList,
}

impl Flag {
    /// The environment variable that stands in for it.
    pub fn env_name(&self) -> String {
        format!("FOOTBRIDGE_{}", self.name.to_ascii_uppercase().replace('-', "_"))
    }

    /// `--name VALUE`.
    pub fn usage(&self) -> String {
        match self.kind {
            Kind::Switch => format!("--{}", self.name),
            Kind::One(value) | Kind::Many(value, _) => format!("--{} {value}", self.name),
        }
    }

    /// Its help with the default.
    fn help_line(&self) -> String {
        match self.default {
            "" => self.help.to_owned(),
            default => format!("{} [{default}]", self.help),
        }
    }
}

const fn one(
    name: &'static str,
    value: &'static str,
    default: &'static str,
    help: &'static str,
) -> Flag {
    Flag { name, kind: Kind::One(value), default, help }
}

const fn many(
    name: &'static str,
    value: &'static str,
    separator: Separator,
    help: &'static str,
) -> Flag {
    Flag { name, kind: Kind::Many(value, separator), default: "", help }
}

const fn switch(name: &'static str, help: &'static str) -> Flag {
    Flag { name, kind: Kind::Switch, default: "", help }
}

/// Every flag of `serve`, in the order of help.
pub const FLAGS: [Flag; 19] = [
    many("workspace", "DIR", Separator::PathList, "folder to serve, repeatable [current folder]"),
    one("port", "N|A-B", "10000-65535", "port, or range to pick a free one from"),
    one("bind", "ADDR", "127.0.0.1", "address to listen on"),
    one("token", "TOKEN", "", "secret clients must send [remembered or fresh]"),
    one("token-file", "FILE", "", "file that holds the token"),
    switch("no-auth", "let in whoever reaches the port, loopback only"),
    many("allow-host", "HOST", Separator::Comma, "Host to accept besides loopback, repeatable"),
    many("allow-origin", "ORIGIN", Separator::Comma, "web origin to let in, repeatable"),
    one("max-connections", "N", "1024", "most connections at once"),
    one("ping-interval", "SECONDS", "30", "seconds between keep-alive pings, 0 = off"),
    switch("strict-masking", "close on unmasked client frames"),
    one("ide-name", "NAME", "footbridge", "name shown in /ide"),
    switch("no-lock-file", "write no lock file: clients must be told the port"),
    one("pid", "N", "own", "process id to write into the lock file"),
    switch("no-pid", "write no process id, for containers"),
    switch("join", "exit 0 if the workspace is served already"),
    one("open-command", "CMD", "", "opens files, e.g. 'code -g {file}:{line}:{column}'"),
    one("log", "LEVEL", "info", "off, error, warn, info, debug or trace"),
    one("config", "FILE", "", "settings file [~/.config/footbridge/config.json]"),
];

/// The flag of that name.
pub fn find(name: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.name == name)
}

/// The flags as lines of help, two columns.
pub fn help_lines() -> String {
    let width = FLAGS.iter().map(|flag| flag.usage().len()).max().unwrap_or(0);
    let line = |flag: &Flag| format!("  {:width$}  {}\n", flag.usage(), flag.help_line());
    FLAGS.iter().map(line).collect()
}

/// The flags as the rows of a Markdown table, for the README.
pub fn markdown_table() -> String {
    let mut text =
        String::from("| flag | environment | default | what it does |\n|---|---|---|---|\n");
    for flag in &FLAGS {
        let usage = flag.usage().replace('|', "\\|");
        text +=
            &format!("| `{usage}` | `{}` | {} | {} |\n", flag.env_name(), flag.default, flag.help);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_spelled_one_way() {
        for (index, flag) in FLAGS.iter().enumerate() {
            assert!(FLAGS[..index].iter().all(|other| other.name != flag.name), "{}", flag.name);
            let is_kebab = flag.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            assert!(is_kebab && find(flag.name) == Some(flag), "{}", flag.name);
        }
        assert_eq!(FLAGS[10].env_name(), "FOOTBRIDGE_STRICT_MASKING");
    }

    #[test]
    fn help_lines_fit_a_terminal() {
        for line in help_lines().lines() {
            assert!(line.len() <= 80, "{} columns: {line}", line.len());
        }
    }

    #[test]
    fn the_readme_table_has_a_row_a_flag() {
        let table = markdown_table();
        assert_eq!(table.lines().count(), FLAGS.len() + 2);
        let row = "| `--port N\\|A-B` | `FOOTBRIDGE_PORT` | 10000-65535 | ";
        assert!(table.lines().any(|line| line.starts_with(row)), "{table}");
    }
}
