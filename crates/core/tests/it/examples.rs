//! The examples do what they say.

#[path = "../../examples/copy_task.rs"]
mod copy_task;
#[path = "../../examples/own_model.rs"]
mod own_model;

#[test]
fn the_copy_task_is_learnt() {
    copy_task::main().unwrap();
}

#[test]
fn a_model_of_ones_own_learns_with_an_attention_of_this_crate() {
    own_model::main().unwrap();
}
