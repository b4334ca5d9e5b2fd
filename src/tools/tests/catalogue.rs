//! What clients are told: the names, the order, and what it may cost them.

use super::*;
use crate::mcp::tool::Descriptor;
use crate::tools::tool::Surface;
use crate::tools::{IDE, TOOLS};

/// Most bytes of one definition in `tools/list`.
const DEFINITION_BYTES_MAX: usize = 600;

/// Most characters of a description.
const DESCRIPTION_LEN_MAX: usize = 200;

fn schema(descriptor: &Descriptor) -> Value {
    serde_json::from_str(descriptor.input_schema).expect("a schema is JSON")
}

#[test]
fn the_tools_of_the_ide_door_are_listed_in_a_fixed_order() {
    let names: Vec<&str> = IDE.iter().map(|descriptor| descriptor.name).collect();
    let expected = [
        "getCurrentSelection",
        "getLatestSelection",
        "getOpenEditors",
        "getWorkspaceFolders",
        "getDiagnostics",
        "openFile",
        "openDiff",
        "checkDocumentDirty",
        "saveDocument",
        "close_tab",
        "closeAllDiffTabs",
    ];
    assert_eq!(names, expected);
    let rows = TOOLS.iter().filter(|tool| tool.surface == Surface::Ide);
    assert_eq!(rows.map(|tool| tool.descriptor.name).collect::<Vec<_>>(), expected);
    let held: Vec<&str> =
        IDE.iter().filter(|tool| tool.is_held).map(|descriptor| descriptor.name).collect();
    assert_eq!(held, ["openDiff"]);
}

#[test]
fn a_definition_costs_little() {
    for descriptor in IDE {
        let definition = json!({
            "name": descriptor.name,
            "description": descriptor.description,
            "inputSchema": schema(descriptor),
        });
        let bytes = definition.to_string().len();
        assert!(bytes <= DEFINITION_BYTES_MAX, "{}: {bytes} bytes", descriptor.name);
        let characters = descriptor.description.chars().count();
        assert!((1..=DESCRIPTION_LEN_MAX).contains(&characters), "{}", descriptor.name);
    }
}

#[test]
fn every_schema_is_a_closed_object_that_knows_what_it_requires() {
    for descriptor in IDE {
        let schema = schema(descriptor);
        assert_eq!(schema["type"], "object", "{}", descriptor.name);
        assert_eq!(schema["additionalProperties"], false, "{}", descriptor.name);
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for name in &required {
            let name = name.as_str().expect("a name");
            assert!(schema["properties"][name].is_object(), "{}: {name}", descriptor.name);
        }
    }
    assert_eq!(schema(&IDE[0])["properties"], json!({}), "the first tool takes {{}}");
}

#[test]
fn a_tool_that_is_not_in_the_catalogue_is_not_run() {
    check(&editor(), "executeCode", json!({ "code": "1" }), vec![Line::Breaks]);
}

#[test]
fn arguments_that_nobody_checked_break_nothing() {
    for descriptor in IDE {
        for arguments in [json!({}), json!({ "filePath": 1, "tab_name": [], "uri": {} })] {
            let mut tools = Tools::new();
            start(&mut tools, CALL, descriptor.name, arguments, &editor());
            let output = tools.poll_output();
            let is_sound = matches!(
                output,
                Some(Output::Ask { .. } | Output::Finished { outcome: Outcome::Result(_), .. })
            );
            assert!(is_sound, "{}: {output:?}", descriptor.name);
        }
    }
}
