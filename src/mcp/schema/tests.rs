//! Arguments that fit, arguments that do not and what is said of them, schemas that are refused.

use super::*;

const SCHEMA: &str = r#"{
    "type": "object", "additionalProperties": false, "required": ["path"], "title": "t",
    "properties": {
        "path": {"type": "string", "description": "d"},
        "line": {"type": "integer", "minimum": 1},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "deep": {"type": "boolean", "default": false},
        "mode": {"enum": ["a", "b", 3]},
        "any": {},
        "edits": {"type": "array", "items": {
            "type": "object", "required": ["at"], "properties": {"at": {"type": "integer"}}
        }}
    }
}"#;

/// `expected` is empty when the arguments fit.
#[track_caller]
fn check(arguments: &str, expected: &str) {
    let schema = Schema::parse(SCHEMA).unwrap();
    let told = match schema.check(&serde_json::from_str(arguments).unwrap()) {
        Ok(()) => String::new(),
        Err(mismatch) => mismatch.to_string(),
    };
    assert_eq!(told, expected, "{arguments}");
}

#[test]
fn arguments_that_fit_pass() {
    for arguments in [
        r#"{"path":""}"#,
        r#"{"path":"p","line":1,"share":0.5,"deep":true,"mode":"a","any":null,"edits":[]}"#,
        r#"{"path":"p","line":7.0,"share":1,"mode":3,"edits":[{"at":0,"more":{}}]}"#,
        r#"{"path":"p","line":123456789012345678901234567890}"#,
    ] {
        check(arguments, "");
    }
}

#[test]
fn a_mismatch_names_the_field_what_was_expected_and_what_came() {
    for (arguments, expected) in [
        ("{}", r#"argument "path": expected a string, got nothing"#),
        (r#"{"path":5}"#, r#"argument "path": expected a string, got the number 5"#),
        (r#"{"path":null}"#, r#"argument "path": expected a string, got null"#),
        (r#"{"path":{}}"#, r#"argument "path": expected a string, got an object"#),
        (
            r#"{"path":"p","line":0}"#,
            r#"argument "line": expected an integer of at least 1, got the number 0"#,
        ),
        (
            r#"{"path":"p","line":1.5}"#,
            r#"argument "line": expected an integer of at least 1, got the number 1.5"#,
        ),
        (
            r#"{"path":"p","line":"1"}"#,
            r#"argument "line": expected an integer of at least 1, got the string "1""#,
        ),
        (
            r#"{"path":"p","share":1.1}"#,
            r#"argument "share": expected a number from 0 to 1, got the number 1.1"#,
        ),
        (
            r#"{"path":"p","deep":"yes"}"#,
            r#"argument "deep": expected a boolean, got the string "yes""#,
        ),
        (
            r#"{"path":"p","mode":"c"}"#,
            r#"argument "mode": expected one of "a", "b", 3, got the string "c""#,
        ),
        (r#"{"path":"p","edits":{}}"#, r#"argument "edits": expected an array, got an object"#),
        (
            r#"{"path":"p","edits":[{"at":1},{}]}"#,
            r#"argument "edits[1].at": expected an integer, got nothing"#,
        ),
        (r#"{"path":"p","edits":[true]}"#, r#"argument "edits[0]": expected an object, got true"#),
    ] {
        check(arguments, expected);
    }
}

#[test]
fn an_unknown_argument_is_refused_where_the_schema_is_closed() {
    check(
        r#"{"path":"p","Line":1}"#,
        "argument \"Line\": expected only \"any\", \"deep\", \"edits\", \"line\", \"mode\", \"path\", \
         \"share\", got a number",
    );
    let none = Schema::parse(r#"{"type":"object","additionalProperties":false}"#).unwrap();
    let mismatch = none.check(&serde_json::from_str(r#"{"x":1}"#).unwrap()).unwrap_err();
    assert_eq!(mismatch.to_string(), r#"argument "x": expected no arguments, got a number"#);
}

#[test]
fn what_came_is_cut_short() {
    let schema =
        Schema::parse(r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#).unwrap();
    let arguments = format!(r#"{{"n":"{}"}}"#, "é".repeat(1 << 20));
    let mismatch = schema.check(&serde_json::from_str(&arguments).unwrap()).unwrap_err();
    assert!(mismatch.to_string().len() < 300);
}

#[test]
fn a_schema_with_a_check_that_would_not_happen_is_refused() {
    for schema in [
        "",
        "true",
        "{}",
        r#"{"type":"string"}"#,
        r#"{"type":["object","null"]}"#,
        r#"{"type":"object","patternProperties":{}}"#,
        r#"{"type":"object","properties":{"a":{"type":"string","pattern":"x"}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"text"}}}"#,
        r#"{"type":"object","required":["a"]}"#,
        r#"{"type":"object","additionalProperties":{}}"#,
        r#"{"type":"object","properties":{"a":{"minimum":"1"}}}"#,
    ] {
        assert!(Schema::parse(schema).is_err(), "{schema}");
    }
}
