//! The one route table, and who may pass through which door.
//!
//! A request is judged in a fixed order: limits (the head reader's), Host, Origin, the credential
//! its route asks for, then the route itself. So a stranger learns nothing from the order of
//! answers, and no route can forget a check. Nothing here reads or writes: a [`Decision`] says
//! what to do. Every refused request closes its connection.

use std::net::IpAddr;

use crate::proto::http::head::HeadError;
use crate::proto::http::request::{Lookup, Request, Version};
use crate::proto::http::response::{Response, Status};
use crate::proto::ws::handshake::{self, REFUSAL_PREFIX, Upgrade};

use super::host::{HostList, HostPort};
use super::origin::{self, Origin};
use super::token::{self, Token};

/// What `/ping` reports.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Who is let in.
#[derive(Debug, Clone)]
pub struct DoorPolicy {
    /// `None` lets everyone in who reaches the port (`--no-auth`).
    pub token: Option<Token>,
    /// What the verbs of the command line show; the state folder alone holds it.
    control_token: Token,
    hosts: HostList,
    origins: Vec<Origin>,
}

/// What to do with a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send [`Upgrade::response`]; from then on the connection is Claude Code's IDE link.
    IdeUpgrade(Upgrade),
    /// The same for a verb of the command line.
    ControlUpgrade(Upgrade),
    /// Send this and close.
    Respond(Response),
    /// Send this and close; the log says `Rejected client_<n>: <reason>`.
    Refuse(Refusal),
}

/// A request that is not let in.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What the peer gets.
    pub response: Response,
    /// One line, without any value the peer sent.
    pub reason: &'static str,
}

/// A door. A path may have several rows, for different methods or with and without upgrade.
struct Route {
    path: &'static str,
    /// `HEAD` is served wherever `GET` is, except on an upgrade.
    methods: &'static [&'static str],
    credential: Credential,
    endpoint: Endpoint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Credential {
    None,
    /// Claude Code's header.
    IdeToken,
    /// `Authorization: Bearer` with the control token.
    Control,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endpoint {
    IdeLink,
    Control,
    Ping,
}

const ROUTES: [Route; 3] = [
    Route {
        path: "/",
        methods: &["GET"],
        credential: Credential::IdeToken,
        endpoint: Endpoint::IdeLink,
    },
    Route {
        path: "/control",
        methods: &["GET"],
        credential: Credential::Control,
        endpoint: Endpoint::Control,
    },
    Route {
        path: "/ping",
        methods: &["GET", "HEAD"],
        credential: Credential::None,
        endpoint: Endpoint::Ping,
    },
];

impl DoorPolicy {
    /// A policy; the loopback names and `bind` are always let in as Host.
    pub fn new(
        token: Option<Token>,
        control_token: Token,
        bind: IpAddr,
        allow_hosts: &[HostPort],
        allow_origins: Vec<Origin>,
    ) -> DoorPolicy {
        DoorPolicy {
            token,
            control_token,
            hosts: HostList::new(bind, allow_hosts),
            origins: allow_origins,
        }
    }
}

/// Judges a request. No answer to a `HEAD` has a body (RFC 9110 §9.3.2).
pub fn decide(request: &Request, policy: &DoorPolicy) -> Decision {
    let decision = judge(request, policy);
    if request.method != "HEAD" {
        return decision;
    }
    match decision {
        Decision::Respond(response) => Decision::Respond(response.without_body()),
        Decision::Refuse(Refusal { response, reason }) => {
            Decision::Refuse(Refusal { response: response.without_body(), reason })
        }
        Decision::IdeUpgrade(_) | Decision::ControlUpgrade(_) => decision,
    }
}

fn judge(request: &Request, policy: &DoorPolicy) -> Decision {
    if !is_host_allowed(request, policy) {
        return refuse(Status::Forbidden, "the Host header names a host that is not let in");
    }
    if let Err(refusal) = origin::check(request, &policy.origins) {
        return refuse(Status::Forbidden, refusal.reason());
    }
    let route = match find_route(request) {
        Ok(route) => route,
        Err(decision) => return decision,
    };
    match route.credential {
        Credential::None => {}
        Credential::Control => {
            if let Err(refusal) = token::check_bearer(request, &policy.control_token) {
                return refuse_token(refusal.reason());
            }
        }
        Credential::IdeToken => {
            let checked = policy.token.as_ref().map(|token| token::check_ide_field(request, token));
            if let Some(Err(refusal)) = checked {
                return refuse_token(refusal.reason());
            }
        }
    }
    match route.endpoint {
        Endpoint::IdeLink => upgrade(request, Decision::IdeUpgrade),
        Endpoint::Control => upgrade(request, Decision::ControlUpgrade),
        Endpoint::Ping => ping(request),
    }
}

/// What to answer to a head that could not be read.
pub fn refuse_head(error: HeadError) -> Refusal {
    let text = format!("Bad request: {}", error.reason());
    Refusal { response: Response::text(error.status(), &text), reason: error.reason() }
}

/// What to answer when the head is not whole in time.
pub fn refuse_slow_head() -> Refusal {
    let reason = "the request head took too long";
    Refusal { response: Response::text(Status::RequestTimeout, reason), reason }
}

/// What to answer when every place is taken.
pub fn refuse_full() -> Refusal {
    let reason = "too many connections";
    let response =
        Response::text(Status::ServiceUnavailable, reason).with_field("Retry-After", "1");
    Refusal { response, reason }
}

/// Both the Host field and the authority of an absolute target must be let in: what stands between
/// us and the client may route by either. HTTP/1.0 need not name a host, and no browser speaks it.
fn is_host_allowed(request: &Request, policy: &DoorPolicy) -> bool {
    let authority = request.target.authority.as_deref();
    let is_authority_allowed = authority.is_none_or(|authority| policy.hosts.allows(authority));
    let is_field_allowed = match request.single("host") {
        Lookup::One(host) => policy.hosts.allows(host),
        Lookup::Missing => request.version == Version::Http10,
        Lookup::Many => false,
    };
    is_authority_allowed && is_field_allowed
}

fn find_route(request: &Request) -> Result<&'static Route, Decision> {
    let Some(route) = ROUTES.iter().find(|route| route.path == request.target.path) else {
        return Err(refuse(Status::NotFound, "no such path"));
    };
    // The IDE door is no page: a request that cannot open it finds nothing there (seed 000).
    let is_ide_link = route.endpoint == Endpoint::IdeLink;
    if is_ide_link && request.version != Version::Http11 {
        return Err(refuse(Status::NotFound, handshake::Rejection::WrongHttpVersion.reason()));
    }
    if route.methods.contains(&request.method.as_str()) {
        return Ok(route);
    }
    if is_ide_link {
        return Err(refuse(Status::NotFound, handshake::Rejection::WrongMethod.reason()));
    }
    let reason = "the path does not take this method";
    let response = Response::text(Status::MethodNotAllowed, reason)
        .with_field("Allow", route.methods.join(", "));
    Err(Decision::Refuse(Refusal { response, reason }))
}

fn upgrade(request: &Request, decision: fn(Upgrade) -> Decision) -> Decision {
    match handshake::validate_upgrade(request) {
        Ok(upgrade) => decision(upgrade),
        Err(rejection) => {
            Decision::Refuse(Refusal { response: rejection.response(), reason: rejection.reason() })
        }
    }
}

fn ping(request: &Request) -> Decision {
    if request.has_body() {
        return refuse(Status::BadRequest, "the path takes no request body");
    }
    let body = format!(r#"{{"ok":true,"v":"{VERSION}"}}"#);
    Decision::Respond(Response::json(Status::Ok, body))
}

fn refuse(status: Status, reason: &'static str) -> Decision {
    Decision::Refuse(Refusal { response: Response::text(status, reason), reason })
}

fn refuse_token(reason: &'static str) -> Decision {
    let text = format!("{REFUSAL_PREFIX}{reason}");
    // RFC 9110 §11.6.1: a 401 names a scheme.
    let response =
        Response::text(Status::Unauthorized, &text).with_field("WWW-Authenticate", "Bearer");
    Decision::Refuse(Refusal { response, reason })
}

#[cfg(test)]
pub(crate) mod tests;
