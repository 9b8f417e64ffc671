//! The small English–German model inside the program `burnformer`, as bytes.

/// The files of the model directory: their names and their bytes.
pub const FILES: [(&str, &[u8]); 6] = [
    ("config.json", include_bytes!("config.json")),
    ("generation.json", include_bytes!("generation.json")),
    ("manifest.json", include_bytes!("manifest.json")),
    ("model.safetensors", include_bytes!("model.safetensors")),
    ("tokenizer.json", include_bytes!("tokenizer.json")),
    ("validation.json", include_bytes!("validation.json")),
];
