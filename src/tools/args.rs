//! The arguments of a call, by name and type.
//!
//! They were checked against the tool's schema before they came here, so that a handler need not
//! answer for a missing or mistyped one. Should one be wrong all the same, it reads as absent and
//! an absent text as empty: a handler's own checks then say what is amiss, and nothing panics.

use serde_json::{Map, Value};

/// What a caller passed.
#[derive(Debug, Default)]
pub struct Args {
    values: Map<String, Value>,
}

impl Args {
    /// The members of `params.arguments`.
    pub fn new(values: Map<String, Value>) -> Args {
        Args { values }
    }

    /// A text; empty when absent.
    pub fn text(&self, name: &str) -> &str {
        self.text_if_any(name).unwrap_or_default()
    }

    /// A text that may be left out; an empty one counts as left out.
    pub fn text_if_any(&self, name: &str) -> Option<&str> {
        self.values.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// A text taken out without a copy; empty when absent.
    pub fn take_text(&mut self, name: &str) -> String {
        match self.values.remove(name) {
            Some(Value::String(text)) => text,
            Some(_) | None => String::new(),
        }
    }

    /// A flag, `default` when absent.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        self.values.get(name).and_then(Value::as_bool).unwrap_or(default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_mistyped_reads_as_absent() {
        let values = serde_json::json!({"a": "x", "n": 1, "e": "", "f": false, "big": "y"});
        let Value::Object(values) = values else { unreachable!("written as an object") };
        let mut args = Args::new(values);
        assert_eq!((args.text("a"), args.text("n"), args.text("none")), ("x", "", ""));
        assert_eq!((args.text_if_any("a"), args.text_if_any("e")), (Some("x"), None));
        assert!(!args.flag("f", true) && args.flag("a", true) && !args.flag("none", false));
        assert_eq!((args.take_text("big").as_str(), args.take_text("big").as_str()), ("y", ""));
        assert_eq!(args.take_text("n"), "");
    }
}
