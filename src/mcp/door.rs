//! What every client of one door shares: who we are there, the tools, the limits.
//!
//! A door is built once at start from the catalogue's descriptors and never changes: the body of
//! `tools/list` is rendered here and copied for each request, and schemas are read here, so that a
//! mistake in the catalogue stops the program at start and not a call at night.

use std::collections::BTreeMap;

use crate::proto::jsonrpc::write;

use super::schema::Schema;
use super::tool::Descriptor;

/// What a door is made of.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// `serverInfo.name`.
    pub server_name: &'static str,
    /// `serverInfo.version`.
    pub server_version: &'static str,
    /// `serverInfo.title`, where the revision has it.
    pub server_title: Option<&'static str>,
    /// `serverInfo.description`, where the revision has it.
    pub server_description: Option<&'static str>,
    /// What the model is told about the server as a whole.
    pub instructions: Option<&'static str>,
    /// In the order they are listed.
    pub tools: &'static [Descriptor],
    /// Longest message sent, in bytes. 16 MiB on the IDE door, where the CLI closes above that.
    pub outbound_bytes_max: usize,
    /// Calls a client may have in flight, held ones apart.
    pub calls_max: usize,
    /// Calls of held tools a client may have in flight.
    pub held_calls_max: usize,
}

/// A door, ready to serve.
#[derive(Debug)]
pub struct Door {
    pub(super) options: Options,
    /// One for each of `options.tools`, at the same index.
    pub(super) schemas: Vec<Schema>,
    index_by_name: BTreeMap<&'static str, usize>,
    /// The result of `tools/list`, on one line.
    pub(super) tools_list: String,
}

impl Door {
    /// Reads the schemas and renders the list.
    ///
    /// # Panics
    /// When two tools share a name, or a schema is no JSON or outside the subset that
    /// [`Schema`] checks: the catalogue is wrong.
    pub fn new(options: Options) -> Door {
        let mut index_by_name = BTreeMap::new();
        let mut schemas = Vec::with_capacity(options.tools.len());
        for (index, tool) in options.tools.iter().enumerate() {
            assert!(index_by_name.insert(tool.name, index).is_none(), "{} stands twice", tool.name);
            match Schema::parse(tool.input_schema) {
                Ok(schema) => schemas.push(schema),
                Err(fault) => panic!("the schema of {}: {fault}", tool.name),
            }
        }
        let tools_list = render_tools(options.tools);
        Door { options, schemas, index_by_name, tools_list }
    }

    /// A door that lives as long as the program, as [`super::Server`] wants it. For the few doors
    /// built at start; the memory is never given back.
    pub fn leak(options: Options) -> &'static Door {
        Box::leak(Box::new(Door::new(options)))
    }

    /// The index of a tool in `options.tools`.
    pub(super) fn find(&self, tool: &str) -> Option<usize> {
        self.index_by_name.get(tool).copied()
    }
}

fn render_tools(tools: &[Descriptor]) -> String {
    let mut out = String::from(r#"{"tools":["#);
    for (index, tool) in tools.iter().enumerate() {
        out.push_str(if index == 0 { r#"{"name":"# } else { r#",{"name":"# });
        write::json(&mut out, tool.name);
        out.push_str(r#","description":"#);
        write::json(&mut out, tool.description);
        out.push_str(r#","inputSchema":"#);
        push_minified(&mut out, tool.input_schema);
        out.push('}');
    }
    out.push_str("]}");
    out
}

/// Appends JSON text without the white space between its tokens, members in their order: a schema
/// written over several lines must not break a message into lines.
fn push_minified(out: &mut String, json: &str) {
    let mut is_in_string = false;
    let mut is_escaped = false;
    for letter in json.chars() {
        if is_in_string {
            is_in_string = is_escaped || letter != '"';
            is_escaped = !is_escaped && letter == '\\';
        } else if letter == '"' {
            is_in_string = true;
        } else if matches!(letter, ' ' | '\t' | '\r' | '\n') {
            continue;
        }
        out.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_over_several_lines_is_listed_on_one() {
        for (json, expected) in [
            ("{\n  \"type\": \"object\"\n}", r#"{"type":"object"}"#),
            (
                r#"{ "a b" : "c \" d" , "e" : "\\" , "f" : [ 1 ] }"#,
                r#"{"a b":"c \" d","e":"\\","f":[1]}"#,
            ),
        ] {
            let mut out = String::new();
            push_minified(&mut out, json);
            assert_eq!(out, expected);
        }
    }
}
