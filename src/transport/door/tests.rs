use super::*;
use crate::proto::http::head::{HeadReader, Limits, Progress};

/// A request out of its text.
#[track_caller]
pub(crate) fn request(text: &str) -> Request {
    match HeadReader::new(Limits::default()).feed(text.as_bytes()) {
        Progress::Complete { request, .. } => request,
        other => panic!("{other:?} from {text:?}"),
    }
}
