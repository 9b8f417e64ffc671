use burn::module::{Content, Devices, Module, ModuleDisplay, ModuleDisplayDefault};
use burn::module::{ModuleMapper, ModuleVisitor};
use burn::tensor::Device;

/// The first field of a module that has another name in the names of parameters than the field that
/// holds it. With an empty name, the fields of the module count as those of its holder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedAs(pub &'static str);

/// The container that a visitor of [`NamedAs`] sees. Those of Burn begin with `Struct:` or `Enum:`.
const NAMED_AS: &str = "NamedAs";

impl Module for NamedAs {
    fn visit<V: ModuleVisitor>(&self, visitor: &mut V) {
        visitor.enter_module(self.0, NAMED_AS);
        visitor.exit_module(self.0, NAMED_AS);
    }

    fn map<M: ModuleMapper>(self, mapper: &mut M) -> Self {
        mapper.enter_module(self.0, NAMED_AS);
        mapper.exit_module(self.0, NAMED_AS);
        self
    }

    fn to_device(self, _: &Device) -> Self {
        self
    }

    fn fork(self, _: &Device) -> Self {
        self
    }

    fn collect_devices(&self, devices: Devices) -> Devices {
        devices
    }

    fn materialize(self) -> Self {
        self
    }

    fn valid(&self) -> Self {
        *self
    }

    fn train(self) -> Self {
        self
    }
}

impl ModuleDisplay for NamedAs {}

impl ModuleDisplayDefault for NamedAs {
    fn content(&self, content: Content) -> Option<Content> {
        content.add_formatted(&self.0).optional()
    }
}

/// The path of fields at the current point of a traversal.
#[derive(Default)]
pub(crate) struct Path(Vec<String>);

impl Path {
    /// Enters the field `name` of a module. The variant of an enum is not part of names.
    pub fn enter(&mut self, name: &str, container: &str) {
        if container == NAMED_AS {
            // The path ends with the field that holds the `NamedAs`, after that of its module and
            // perhaps variants.
            let fields = self.0.iter_mut().rev().skip(1);
            if let Some(holder) = fields.into_iter().find(|field| !field.is_empty()) {
                *holder = name.to_owned();
            }
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
