//! Burn's visitors as trait objects, for models whose type is not known.
//!
//! A Burn module is visited and mapped by code that is generic over the visitor and over the rank
//! of each parameter, which a trait object cannot offer. Here the visitor is a trait object too,
//! and parameters have the two ranks that models need.

use std::any::Any;

use burn::module::{ModuleMapper, ModuleVisitor, Param};
use burn::tensor::Tensor;

type Vector = Param<Tensor<1>>;
type Matrix = Param<Tensor<2>>;

const RANKS: &str = "a model has only vectors and matrices";

/// A [`ModuleVisitor`] as a trait object.
pub trait AnyVisitor {
    /// [`ModuleVisitor::enter_module`].
    fn enter(&mut self, name: &str, container: &str);
    /// [`ModuleVisitor::exit_module`].
    fn exit(&mut self, name: &str, container: &str);
    /// [`ModuleVisitor::visit_float`] of a vector.
    fn vector(&mut self, param: &Vector);
    /// [`ModuleVisitor::visit_float`] of a matrix.
    fn matrix(&mut self, param: &Matrix);
}

impl<V: ModuleVisitor> AnyVisitor for V {
    fn enter(&mut self, name: &str, container: &str) {
        self.enter_module(name, container);
    }

    fn exit(&mut self, name: &str, container: &str) {
        self.exit_module(name, container);
    }

    fn vector(&mut self, param: &Vector) {
        self.visit_float(param);
    }

    fn matrix(&mut self, param: &Matrix) {
        self.visit_float(param);
    }
}

/// A [`ModuleMapper`] as a trait object.
pub trait AnyMapper {
    /// [`ModuleMapper::enter_module`].
    fn enter(&mut self, name: &str, container: &str);
    /// [`ModuleMapper::exit_module`].
    fn exit(&mut self, name: &str, container: &str);
    /// [`ModuleMapper::map_float`] of a vector.
    fn vector(&mut self, param: Vector) -> Vector;
    /// [`ModuleMapper::map_float`] of a matrix.
    fn matrix(&mut self, param: Matrix) -> Matrix;
}

impl<M: ModuleMapper> AnyMapper for M {
    fn enter(&mut self, name: &str, container: &str) {
        self.enter_module(name, container);
    }

    fn exit(&mut self, name: &str, container: &str) {
        self.exit_module(name, container);
    }

    fn vector(&mut self, param: Vector) -> Vector {
        self.map_float(param)
    }

    fn matrix(&mut self, param: Matrix) -> Matrix {
        self.map_float(param)
    }
}

/// Gives each parameter to the method of its rank.
pub struct ByRank<'a, T: ?Sized>(pub &'a mut T);

impl ModuleVisitor for ByRank<'_, dyn AnyVisitor + '_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.0.enter(name, container);
    }

    fn exit_module(&mut self, name: &str, container: &str) {
        self.0.exit(name, container);
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let param: &dyn Any = param;
        match param.downcast_ref() {
            Some(vector) => self.0.vector(vector),
            None => self.0.matrix(param.downcast_ref().expect(RANKS)),
        }
    }
}

impl ModuleMapper for ByRank<'_, dyn AnyMapper + '_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.0.enter(name, container);
    }

    fn exit_module(&mut self, name: &str, container: &str) {
        self.0.exit(name, container);
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let mut slot = Some(param);
        let any: &mut dyn Any = &mut slot;
        if let Some(vector) = any.downcast_mut::<Option<Vector>>() {
            *vector = vector.take().map(|param| self.0.vector(param));
        } else {
            let matrix = any.downcast_mut::<Option<Matrix>>().expect(RANKS);
            *matrix = matrix.take().map(|param| self.0.matrix(param));
        }
        slot.expect("it was put back")
    }
}
