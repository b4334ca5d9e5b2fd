//! Which `Host` a request may name: the guard against DNS rebinding.
//!
//! A page of another site can point its own name at 127.0.0.1 and then talk to this port as its
//! own origin; what it cannot do is send another Host. So Host is parsed and compared whole with a
//! short list, never by prefix. The port may be any, since SSH forwards and containers change it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;

/// Longest Host that is looked at, in bytes: a DNS name has 253, the port six more.
const HOST_BYTES_MAX: usize = 260;

/// A host, ready to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A name in lower case, without a dot at its end.
    Name(String),
    /// An address.
    Address(IpAddr),
}

/// A `host` or `host:port` taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// The host.
    pub host: Host,
    /// The port, if one was written.
    pub port: Option<NonZeroU16>,
}

/// The hosts let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostList {
    /// An entry without a port stands for every port.
    entries: Vec<HostPort>,
}

impl HostPort {
    /// Takes a Host value apart, RFC 9110 §7.2; `None` when it is no exact host and port. Short
    /// spellings of addresses (`127.1`), zone ids, user names and lists are none.
    pub fn parse(text: &str) -> Option<HostPort> {
        if text.len() > HOST_BYTES_MAX {
            return None;
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']')?;
                let address: Ipv6Addr = address.parse().ok()?;
                (Host::Address(IpAddr::V6(address)), port)
            }
            None => {
                let host_len = text.find(':').unwrap_or(text.len());
                let (host, port) = text.split_at(host_len);
                (Host::parse_name(host)?, port)
            }
        };
        let port = match port.strip_prefix(':') {
            Some(digits) => Some(parse_port(digits)?),
            None if port.is_empty() => None,
            None => return None,
        };
        Some(HostPort { host, port })
    }
}

impl Host {
    fn parse_name(text: &str) -> Option<Host> {
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Host::Address(IpAddr::V4(address)));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_name = name.split('.').all(|label| !label.is_empty());
        // A name whose last label is a number is an address in an odd spelling (WHATWG URL §4.4).
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
        let is_hex_number = last.starts_with("0x") || last.starts_with("0X");
        if !is_name || !name.bytes().all(is_name_byte) || is_number || is_hex_number {
            return None;
        }
        Some(Host::Name(name.to_ascii_lowercase()))
    }
}

impl HostList {
    /// The loopback names, the address bound to, and what the user allows. An unspecified address
    /// (`0.0.0.0`, `::`) names no host and adds none.
    pub fn new(bind: IpAddr, allowed: &[HostPort]) -> HostList {
        let hosts = [
            Host::Name("localhost".to_owned()),
            Host::Address(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            Host::Address(IpAddr::V6(Ipv6Addr::LOCALHOST)),
            Host::Address(bind),
        ];
        let is_specified = |host: &Host| *host != Host::Address(bind) || !bind.is_unspecified();
        let own = hosts.into_iter().filter(is_specified);
        let mut entries: Vec<HostPort> = own.map(|host| HostPort { host, port: None }).collect();
        entries.extend_from_slice(allowed);
        HostList { entries }
    }

    /// Whether a Host value names one of them.
    pub fn allows(&self, text: &str) -> bool {
        let Some(asked) = HostPort::parse(text) else { return false };
        self.entries.iter().any(|entry| {
            entry.host == asked.host && (entry.port.is_none() || entry.port == asked.port)
        })
    }
}

fn parse_port(digits: &str) -> Option<NonZeroU16> {
    let is_decimal = digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_decimal { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bind: &str, allowed: &[&str], rows: &[(&str, bool)]) {
        let allowed: Vec<HostPort> =
            allowed.iter().map(|text| HostPort::parse(text).unwrap()).collect();
        let list = HostList::new(bind.parse().unwrap(), &allowed);
        for (host, expected) in rows {
            assert_eq!(list.allows(host), *expected, "{host:?}");
        }
    }

    #[test]
    fn only_exact_loopback_names_pass_with_any_valid_port() {
        check(
            "127.0.0.1",
            &[],
            &[
                ("127.0.0.1", true),
                ("127.0.0.1:1", true),
                ("127.0.0.1:65535", true),
                ("localhost", true),
                ("localhost:8080", true),
                ("localhost.", true),
                ("localhost.:80", true),
                ("LOCALHOST", true),
                ("LocalHost:1", true),
                ("[::1]", true),
                ("[::1]:80", true),
                ("[0:0:0:0:0:0:0:1]:80", true),
                ("", false),
                (".", false),
                (":80", false),
                ("localhost..", false),
                ("localhost:", false),
                ("localhost:0", false),
                ("localhost:65536", false),
                ("localhost:+80", false),
                ("localhost:abc", false),
                ("localhost:80:80", false),
                ("localhost.evil.example", false),
                ("evil.example", false),
                ("evil-localhost", false),
                ("127.0.0.1.nip.io", false),
                ("127.0.0.1.", false),
                ("127.0.0.2", false),
                ("127.1", false),
                ("2130706433", false),
                ("0x7f000001", false),
                ("0177.0.0.1", false),
                ("0.0.0.0", false),
                ("0", false),
                ("[::]", false),
                ("::1", false),
                ("[::1", false),
                ("[::1]80", false),
                ("[::1%lo]", false),
                ("[::ffff:127.0.0.1]", false),
                ("user@localhost", false),
                ("localhost@evil.example", false),
                ("localhost/", false),
                ("localhost#", false),
                ("localhost, evil.example", false),
                ("127.0.0.1:80,evil", false),
                ("local host", false),
                ("localhost\u{fffd}", false),
            ],
        );
    }

    #[test]
    fn the_bound_address_and_allowed_hosts_pass_too() {
        check(
            "192.168.1.5",
            &["dev.example", "box.example:8443", "[::ffff:127.0.0.1]"],
            &[
                ("192.168.1.5:1234", true),
                ("192.168.1.6", false),
                ("DEV.example.:9", true),
                ("x.dev.example", false),
                ("box.example:8443", true),
                ("box.example:8444", false),
                ("box.example", false),
                ("[::ffff:127.0.0.1]:9", true),
                ("localhost", true),
            ],
        );
    }

    #[test]
    fn binding_to_every_address_names_no_host() {
        check("0.0.0.0", &[], &[("0.0.0.0", false), ("0.0.0.0:80", false), ("localhost", true)]);
        check("::", &[], &[("[::]", false), ("[::1]", true)]);
    }
}
