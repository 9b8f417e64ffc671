//! [`Module`] for models whose type is not known.
//!
//! A Burn module is visited and mapped by code that is generic over the visitor and over the rank of each parameter, which
//! a trait object cannot offer. Here the visitor is a trait object too, and parameters have the two ranks that models need.

use std::any::Any;
use std::fmt::Debug;

use burn::module::{Devices, Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor};

use crate::seq2seq::{Model, Seq2Seq};

type Vector = Param<Tensor<1>>;
type Matrix = Param<Tensor<2>>;

const RANKS: &str = "a model has only vectors and matrices";

/// The methods of [`Module`] as those of a trait object. Every [`Seq2Seq`] model that is a module has them.
pub trait AnyModule: Debug + Send {
    /// [`Clone::clone`].
    fn cloned(&self) -> Model;
    /// [`Module::collect_devices`].
    fn devices_after(&self, devices: Devices) -> Devices;
    /// [`Module::fork`].
    fn forked(self: Box<Self>, device: &Device) -> Model;
    /// [`Module::to_device`].
    fn moved_to(self: Box<Self>, device: &Device) -> Model;
    /// [`Module::train`].
    fn trained(self: Box<Self>) -> Model;
    /// [`Module::valid`].
    fn validated(&self) -> Model;
    /// [`Module::materialize`].
    fn materialized(self: Box<Self>) -> Model;
    /// [`Module::visit`].
    fn show_to(&self, visitor: &mut dyn AnyVisitor);
    /// [`Module::map`].
    fn mapped_by(self: Box<Self>, mapper: &mut dyn AnyMapper) -> Model;
}

impl<M: Module + Seq2Seq + 'static> AnyModule for M {
    fn cloned(&self) -> Model {
        Box::new(self.clone())
    }

    fn devices_after(&self, devices: Devices) -> Devices {
        self.collect_devices(devices)
    }

    fn forked(self: Box<Self>, device: &Device) -> Model {
        Box::new(self.fork(device))
    }

    fn moved_to(self: Box<Self>, device: &Device) -> Model {
        Box::new(self.to_device(device))
    }

    fn trained(self: Box<Self>) -> Model {
        Box::new(self.train())
    }

    fn validated(&self) -> Model {
        Box::new(self.valid())
    }

    fn materialized(self: Box<Self>) -> Model {
        Box::new(self.materialize())
    }

    fn show_to(&self, visitor: &mut dyn AnyVisitor) {
        self.visit(&mut ByRank(visitor));
    }

    fn mapped_by(self: Box<Self>, mapper: &mut dyn AnyMapper) -> Model {
        Box::new(self.map(&mut ByRank(mapper)))
    }
}

impl<M: Module + Seq2Seq + 'static> From<M> for Model {
    fn from(model: M) -> Self {
        Box::new(model)
    }
}

impl Clone for Model {
    fn clone(&self) -> Self {
        (**self).cloned()
    }
}

impl Module for Model {
    fn collect_devices(&self, devices: Devices) -> Devices {
        (**self).devices_after(devices)
    }

    fn fork(self, device: &Device) -> Self {
        self.forked(device)
    }

    fn to_device(self, device: &Device) -> Self {
        self.moved_to(device)
    }

    fn train(self) -> Self {
        self.trained()
    }

    fn valid(&self) -> Self {
        (**self).validated()
    }

    fn materialize(self) -> Self {
        self.materialized()
    }

    fn visit<V: ModuleVisitor>(&self, visitor: &mut V) {
        (**self).show_to(visitor);
    }

    fn map<M: ModuleMapper>(self, mapper: &mut M) -> Self {
        self.mapped_by(mapper)
    }
}

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
struct ByRank<'a, T: ?Sized>(&'a mut T);

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
