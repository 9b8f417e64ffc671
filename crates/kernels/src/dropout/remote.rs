//! What this crate computes on devices that another machine serves: the factors of dropout are drawn there. Drawn
//! here they would have to be sent, one float for each activation of the model in each update.

use burn::backend::ir::{CustomOpIr, ScalarIr, TensorIr};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, DispatchDevice, Remote, backend_extension};
use burn::remote::CustomOpClient;
use burn::server::RemoteServer;
use burn::tensor::{DType, Device, Shape, Tensor};

use super::mask::DropoutMask;
use crate::random::RandomKey;

/// The operation's name on the wire; its scalars are the key and the rate.
const MASK: &str = "burnformer.dropout_mask";

#[backend_extension(Remote)]
pub(crate) trait ServedMask: Backend {
    fn served_mask_like(x: FloatTensor<Self>, mask: DropoutMask) -> FloatTensor<Self>;
}

/// Whether `x` is served by another machine, with or without gradients, in 32 bits.
pub(super) fn serves<const D: usize>(x: &Tensor<D>) -> bool {
    let device = x.device().inner();
    x.dtype() == DType::F32 && matches!(device.as_dispatch(), DispatchDevice::Remote(_))
}

/// The factors of `mask` for every element of `x`, bit for bit those of [`DropoutMask::fill_at`].
pub(super) fn mask_like<const D: usize>(x: &Tensor<D>, mask: DropoutMask) -> Tensor<D> {
    let is_autodiff = x.device().is_autodiff();
    let x = if is_autodiff { x.clone().inner() } else { x.clone() };
    let factors = <Dispatch as ServedMask>::served_mask_like(x.into_dispatch(), mask);
    let factors = Tensor::from_dispatch(factors);
    if is_autodiff { Tensor::from_inner(factors) } else { factors }
}

impl ServedMask for Remote {
    fn served_mask_like(x: FloatTensor<Self>, mask: DropoutMask) -> FloatTensor<Self> {
        use burn::backend::TensorMetadata;
        let client = CustomOpClient::new(&x.device());
        let factors = TensorIr::uninit(client.create_empty_handle(), x.shape(), DType::F32);
        let scalars = vec![ScalarIr::UInt(mask.key().bits()), ScalarIr::Float(mask.rate())];
        let drawn = client.register(CustomOpIr::with_scalars(MASK, &[], &[factors], scalars));
        drawn.into_iter().next().expect("one output was asked for")
    }
}

/// What an operation of a client asks for.
fn asked(operation: &CustomOpIr) -> (&TensorIr, Shape, DropoutMask) {
    let (_, [factors]) = operation.as_fixed::<0, 1>();
    let key = RandomKey::from_bits(operation.scalars[0].elem());
    (factors, factors.shape.clone(), DropoutMask::new(key, operation.scalars[1].elem()))
}

/// Makes `server`, which serves devices of the kind of `device`, draw masks of dropout. `None` for devices that
/// cannot: all but the CPU by Burn's `flex` (cargo feature `cpu`) and GPUs (cargo feature `gpu`).
pub fn with_operations(server: RemoteServer, device: &Device) -> Option<RemoteServer> {
    match device.clone().inner().as_dispatch() {
        #[cfg(feature = "cpu")]
        DispatchDevice::Flex(_) => Some(on_cpu(server)),
        #[cfg(feature = "gpu")]
        DispatchDevice::Cube(_) => Some(on_gpu(server)),
        _ => None,
    }
}

#[cfg(feature = "cpu")]
fn on_cpu(server: RemoteServer) -> RemoteServer {
    use burn::backend::Flex;
    use burn::backend::ops::FloatTensorOps;
    use burn::tensor::TensorData;
    server.with_custom_op::<Flex, _>(MASK, |handles, operation, device| {
        let (factors, shape, mask) = asked(operation);
        let data = TensorData::new(mask.factors(shape.num_elements()), shape);
        let drawn = Flex::float_from_data(data, device);
        handles.register_float_tensor::<Flex>(&factors.id, drawn);
    })
}

#[cfg(feature = "gpu")]
fn on_gpu(server: RemoteServer) -> RemoteServer {
    use burn::backend::ops::FloatTensorOps;
    use burn::tensor::FloatDType;
    use burn_cubecl::CubeBackend;

    use super::gpu::MaskKernel;
    server.with_custom_op::<CubeBackend, _>(MASK, |handles, operation, device| {
        let (factors, shape, mask) = asked(operation);
        let like = CubeBackend::float_empty(shape, device, FloatDType::F32);
        let drawn = CubeBackend::dropout_mask_like(like, mask);
        handles.register_float_tensor::<CubeBackend>(&factors.id, drawn);
    })
}
