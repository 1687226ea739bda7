//! How messages name the rows of a flagged table: by the columns of its key and their values. The
//! trigger calls it for the error that names a near-duplicate, and for the CONTEXT of a writer that
//! waits.

use std::cell::OnceCell;

use simhash_pg::catalog::table_name::identifier;
use simhash_pg::process::encoding::to_utf8;
use simhash_pg::process::memory::MemoryContext;
use simhash_pg::sql::type_output::Output;
use simhash_pg::sql::value::Value;

use super::columns::Columns;

/// The names of the key's columns, and their output functions, which live in a statement's memory.
pub struct KeyText {
    names: Vec<String>,
    outputs: OnceCell<Vec<Output>>,
    memory: MemoryContext,
}

impl KeyText {
    pub fn new(columns: &Columns, memory: MemoryContext) -> Self {
        Self {
            names: columns.key.iter().map(|(name, _)| name.clone()).collect(),
            outputs: OnceCell::new(),
            memory,
        }
    }

    /// Returns the values of a key with commas between them.
    pub fn values(&self, key: &[Value<'_>]) -> String {
        let outputs = self.outputs.get_or_init(|| {
            let types = key.iter().map(|value| value.type_id());
            let output = |type_id| Output::for_type(type_id, self.memory);
            types.map(output).collect()
        });
        let text = |(value, output): (&Value<'_>, &Output)| {
            output.text(*value, |text| to_utf8(text).into_owned())
        };
        let texts: Vec<String> = key.iter().zip(outputs).map(text).collect();
        texts.join(", ")
    }

    /// Returns the row with these values, such as `row with "id" = 3`; `row` if there are none.
    pub fn row(&self, values: &str) -> String {
        let quoted = |name: &String| format!("\"{name}\"");
        let names: Vec<String> = self.names.iter().map(quoted).collect();
        match &names[..] {
            _ if values.is_empty() => "row".to_owned(),
            [name] => format!("row with {name} = {values}"),
            _ => format!("row with ({}) = ({values})", names.join(", ")),
        }
    }

    /// Returns the sentence by which the server's constraints name a key: `Key (id)=(3).`
    pub fn sentence(&self, values: &str) -> String {
        let names: Vec<String> = self.names.iter().map(|name| identifier(name)).collect();
        format!("Key ({})=({values}).", names.join(", "))
    }
}
