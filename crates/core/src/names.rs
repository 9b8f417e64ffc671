use burn::module::Module;

/// The type of a first field `named_as_NAME` of a module: in the names of parameters the module is
/// called NAME, not as the field that holds it. With `named_as_`, the fields of the module count as
/// those of its holder.
#[derive(Module, Debug)]
pub(crate) struct NamedAs {}

/// The path of fields at the current point of a traversal.
#[derive(Default)]
pub(crate) struct Path(Vec<String>);

impl Path {
    /// Enters the field `name` of a module. The variant of an enum is not part of names.
    pub fn enter(&mut self, name: &str, container: &str) {
        let holder = self.0.iter_mut().rev().find(|field| !field.is_empty());
        if let (Some(name), Some(holder)) = (name.strip_prefix("named_as_"), holder) {
            *holder = name.to_owned();
        }
        let is_variant = container.starts_with("Enum:");
        self.0.push(if is_variant { String::new() } else { name.to_owned() });
    }

    /// Leaves what was entered last.
    pub fn exit(&mut self) {
        self.0.pop();
    }

    /// The fields joined by dots.
    pub fn name(&self) -> String {
        let fields: Vec<&str> =
            self.0.iter().map(String::as_str).filter(|f| !f.is_empty()).collect();
        fields.join(".")
    }
}
