//! What a client is told of a tool.

/// One row of `tools/list`. Goes down from the catalogue, so that this layer knows no tool.
#[derive(Debug, Clone, Copy)]
pub struct Descriptor {
    /// Unique on its door.
    pub name: &'static str,
    /// At most 200 characters.
    pub description: &'static str,
    /// A JSON Schema object, as text.
    pub input_schema: &'static str,
    /// The answer may take as long as a person does: such calls have their own bound.
    pub is_held: bool,
}
