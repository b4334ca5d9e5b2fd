//! HTTP/1.1 as RFC 9110 and RFC 9112 have it, as far as the doors need it.

pub mod head;
pub mod request;
pub mod response;
