//! The part of JSON Schema the catalogue is written in, checked.
//!
//! Not a validator for schemas of strangers: a keyword that is not enforced here is refused when
//! the schema is read, so no tool believes in a check that does not happen. What stands in the
//! schema for the model's eyes only (`title`, `description`, `default`, `examples`) is accepted and
//! ignored.

use std::fmt;

use serde_json::{Map, Value};

use super::error::quoted;

/// A schema, ready to check values.
#[derive(Debug, Default, PartialEq)]
pub struct Schema {
    kind: Option<Kind>,
    properties: Vec<(String, Schema)>,
    required: Vec<String>,
    is_closed: bool,
    choices: Option<Vec<Value>>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    items: Option<Box<Schema>>,
}

/// The value of `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Object,
    Array,
    String,
    Boolean,
    Integer,
    Number,
}

/// What is wrong with an argument: which one, what was expected, what came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Its path: `edits[2].line`.
    pub field: String,
    /// What the schema wants there.
    pub expected: String,
    /// What stood there: its type, and of short scalars the value.
    pub came: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = quoted(&self.field);
        write!(out, "argument {field}: expected {}, got {}", self.expected, self.came)
    }
}

impl Mismatch {
    /// The same, seen from one level further out.
    fn under(self, outer: &str) -> Mismatch {
        let separator = if self.field.is_empty() || self.field.starts_with('[') { "" } else { "." };
        Mismatch { field: format!("{outer}{separator}{}", self.field), ..self }
    }
}

impl Schema {
    /// Reads the schema of a tool's arguments.
    ///
    /// # Errors
    /// One line for the author of the catalogue: no JSON, not of type object, or a keyword that is
    /// not enforced here.
    pub fn parse(json: &str) -> Result<Schema, String> {
        let value: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let schema = Schema::read(&value)?;
        if schema.kind != Some(Kind::Object) {
            return Err("the type of arguments is object".to_owned());
        }
        Ok(schema)
    }

    /// Checks the arguments of a call.
    ///
    /// # Errors
    /// The first field that does not fit, in the order of the arguments' names.
    pub fn check(&self, arguments: &Map<String, Value>) -> Result<(), Mismatch> {
        self.check_object(arguments)
    }

    fn read(value: &Value) -> Result<Schema, String> {
        let keywords = value.as_object().ok_or("a schema is an object")?;
        let mut schema = Schema::default();
        for (keyword, value) in keywords {
            match keyword.as_str() {
                "properties" => schema.properties = read_properties(value)?,
                "items" => schema.items = Some(Box::new(Schema::read(value)?)),
                _ => schema.read_keyword(keyword, value).ok_or_else(|| {
                    format!("the keyword {keyword:?} is unknown here or has a value it cannot have")
                })?,
            }
        }
        match schema.required.iter().find(|name| schema.property(name).is_none()) {
            Some(name) => Err(format!("{name:?} is required but no property")),
            None => Ok(schema),
        }
    }

    fn read_keyword(&mut self, keyword: &str, value: &Value) -> Option<()> {
        match keyword {
            "type" => self.kind = Some(Kind::parse(value.as_str()?)?),
            "required" => {
                for name in value.as_array()? {
                    self.required.push(name.as_str()?.to_owned());
                }
            }
            "additionalProperties" => self.is_closed = !value.as_bool()?,
            "enum" => self.choices = Some(value.as_array()?.clone()),
            "minimum" => self.minimum = Some(value.as_f64()?),
            "maximum" => self.maximum = Some(value.as_f64()?),
            "$schema" | "title" | "description" | "default" | "examples" => {}
            _ => return None,
        }
        Some(())
    }

    fn property(&self, name: &str) -> Option<&Schema> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, schema)| schema)
    }

    /// The mismatch names its field from here on inwards.
    fn check_value(&self, value: &Value) -> Result<(), Mismatch> {
        let has_kind = self.kind.is_none_or(|kind| kind.holds(value));
        let is_choice = self.choices.as_ref().is_none_or(|choices| choices.contains(value));
        let is_in_range = value.as_f64().is_none_or(|number| {
            self.minimum.is_none_or(|minimum| number >= minimum)
                && self.maximum.is_none_or(|maximum| number <= maximum)
        });
        if !(has_kind && is_choice && is_in_range) {
            return Err(mismatch("", self.expected(), told(value)));
        }
        match value {
            Value::Object(members) => self.check_object(members),
            Value::Array(elements) => self.check_array(elements),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn check_object(&self, members: &Map<String, Value>) -> Result<(), Mismatch> {
        if let Some(name) = self.required.iter().find(|name| !members.contains_key(*name)) {
            let expected = self.property(name).map_or_else(String::new, Schema::expected);
            return Err(mismatch(name, expected, "nothing".to_owned()));
        }
        for (name, value) in members {
            match self.property(name) {
                Some(schema) => schema.check_value(value).map_err(|inner| inner.under(name))?,
                None if self.is_closed => {
                    return Err(mismatch(name, self.known_names(), kind_of(value).to_owned()));
                }
                None => {}
            }
        }
        Ok(())
    }

    fn check_array(&self, elements: &[Value]) -> Result<(), Mismatch> {
        let Some(schema) = &self.items else { return Ok(()) };
        for (index, element) in elements.iter().enumerate() {
            schema.check_value(element).map_err(|inner| inner.under(&format!("[{index}]")))?;
        }
        Ok(())
    }

    /// What a value must be, in words.
    fn expected(&self) -> String {
        if let Some(choices) = &self.choices {
            let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
            return format!("one of {}", choices.join(", "));
        }
        let kind = self.kind.map_or("a value", Kind::article);
        match (self.minimum, self.maximum) {
            (None, None) => kind.to_owned(),
            (Some(minimum), None) => format!("{kind} of at least {minimum}"),
            (None, Some(maximum)) => format!("{kind} of at most {maximum}"),
            (Some(minimum), Some(maximum)) => format!("{kind} from {minimum} to {maximum}"),
        }
    }

    /// What a closed object may hold, in words.
    fn known_names(&self) -> String {
        let names: Vec<String> = self.properties.iter().map(|(name, _)| quoted(name)).collect();
        match names.as_slice() {
            [] => "no arguments".to_owned(),
            _ => format!("only {}", names.join(", ")),
        }
    }
}

impl Kind {
    fn parse(name: &str) -> Option<Kind> {
        Some(match name {
            "object" => Kind::Object,
            "array" => Kind::Array,
            "string" => Kind::String,
            "boolean" => Kind::Boolean,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            _ => return None,
        })
    }

    fn holds(self, value: &Value) -> bool {
        match self {
            Kind::Object => value.is_object(),
            Kind::Array => value.is_array(),
            Kind::String => value.is_string(),
            Kind::Boolean => value.is_boolean(),
            // 1.0 is an integer: JSON Schema goes by the value, not by the spelling.
            Kind::Integer => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            Kind::Number => value.is_number(),
        }
    }

    fn article(self) -> &'static str {
        match self {
            Kind::Object => "an object",
            Kind::Array => "an array",
            Kind::String => "a string",
            Kind::Boolean => "a boolean",
            Kind::Integer => "an integer",
            Kind::Number => "a number",
        }
    }
}

fn read_properties(value: &Value) -> Result<Vec<(String, Schema)>, String> {
    let properties = value.as_object().ok_or("properties are an object")?;
    properties
        .iter()
        .map(|(name, value)| match Schema::read(value) {
            Ok(schema) => Ok((name.clone(), schema)),
            Err(fault) => Err(format!("{name}: {fault}")),
        })
        .collect()
}

fn mismatch(field: &str, expected: String, came: String) -> Mismatch {
    Mismatch { field: field.to_owned(), expected, came }
}

/// The type of a value, and the value where it is short.
fn told(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string {}", quoted(text)),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            kind_of(value).to_owned()
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
