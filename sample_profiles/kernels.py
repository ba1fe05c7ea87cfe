"""The GPU work that the simulated model launches: names as nsys demangles them, usual times, launch shapes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Kernel:
    """One compute kernel or collective.

    Attributes:
        name: demangled name with template arguments and parameters.
        short: function name alone.
        usual_ns: time at work before jitter; for a collective the transfer, once every rank has arrived.
        grid: blocks along x.
        block: threads of a block.
        is_driver_launch: cuBLAS launches through the driver (cuLaunchKernelEx), PyTorch through the runtime.
    """

    name: str
    short: str
    usual_ns: int
    grid: int
    block: int
    registers: int = 40
    shared_memory: int = 0
    is_driver_launch: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Copy:
    """A memcpy; `kind` and the memory kinds are CUPTI's numbers (kind 1 host to device, 2 device to host)."""

    bytes: int
    kind: int
    source: int
    target: int
    usual_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Memset:
    """A memset to zero."""

    bytes: int
    usual_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Graph:
    """A CUDA graph launched whole: its kernels and collectives are not in the export."""

    graph: int
    instance: int
    usual_ns: int


Work = Kernel | Copy | Memset | Graph

HOST_TO_DEVICE = 1
DEVICE_TO_HOST = 2
PAGEABLE, PINNED, DEVICE = 0, 1, 2


def _elementwise(functor: str, arrays: int, *, usual_ns: int) -> Kernel:
    short = "vectorized_elementwise_kernel"
    operands = f"std::array<char *, (unsigned long){arrays}>"
    name = f"void at::native::{short}<(int)4, {functor}, {operands}>(int, T2, T3)"
    return Kernel(name=name, short=short, usual_ns=usual_ns, grid=24576, block=128, registers=32)


def _gemm(tile: str, *, usual_ns: int) -> Kernel:
    name = f"sm90_xmma_gemm_bf16bf16_bf16f32_f32_{tile}_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"
    return Kernel(
        name=name,
        short=name,
        usual_ns=usual_ns,
        grid=132,
        block=384,
        registers=168,
        shared_memory=213_504,
        is_driver_launch=True,
    )


def _multi_tensor(depth: int, functor: str, *, usual_ns: int) -> Kernel:
    inner = "at::native::<unnamed>::"
    short = "multi_tensor_apply_kernel"
    name = f"void {inner}{short}<{inner}TensorListMetadata<(int){depth}>, {functor}>(T1, T2, T3...)"
    return Kernel(name=name, short=short, usual_ns=usual_ns, grid=320, block=512, registers=64)


def collective(kind: str, *, usual_ns: int) -> Kernel:
    """Return an NCCL kernel such as `AllReduce_Sum_bf16_RING_LL`; `usual_ns` is its transfer time."""
    short = f"ncclDevKernel_{kind}"
    name = f"{short}(ncclDevKernelArgsStorage<(unsigned long)4096>)"
    return Kernel(name=name, short=short, usual_ns=usual_ns, grid=24, block=544, registers=96, shared_memory=82_240)


_HEAD_SIZES = "(int)128, (int)128, (int)64, (int)8"
_FLASH_TRAITS = f"Flash_fwd_kernel_traits<{_HEAD_SIZES}, (bool)0, (bool)0, cutlass::bfloat16_t>"
_FLASH_BWD_TRAITS = f"Flash_bwd_kernel_traits<{_HEAD_SIZES}, (int)4, (int)2, (int)2, (bool)0, cutlass::bfloat16_t>"
_INDEXING = "at::native::<unnamed>::indexSelectLargeIndex"

EMBEDDING = Kernel(
    name=f"void {_INDEXING}<c10::BFloat16, long, unsigned int, (int)2, (int)2, (int)-2, (bool)1>(T1, T2, T3, int, int)",
    short="indexSelectLargeIndex",
    usual_ns=38_000,
    grid=4096,
    block=128,
)
LAYER_NORM = Kernel(
    name=(
        "void at::native::<unnamed>::vectorized_layer_norm_kernel<c10::BFloat16, float, (bool)0>"
        "(int, T2, const T1 *, const T1 *, const T1 *, T2 *, T2 *, T1 *)"
    ),
    short="vectorized_layer_norm_kernel",
    usual_ns=46_000,
    grid=8192,
    block=128,
)
GEMM_QKV = _gemm("tn_n_tilesize128x128x64", usual_ns=640_000)
FLASH_FORWARD = Kernel(
    name=f"void flash::flash_fwd_kernel<{_FLASH_TRAITS}, (bool)0, (bool)1, (bool)0, (bool)1>(flash::Flash_fwd_params)",
    short="flash_fwd_kernel",
    usual_ns=410_000,
    grid=16,
    block=256,
    registers=255,
    shared_memory=65_536,
)
GEMM_MLP = _gemm("tn_n_tilesize128x256x64", usual_ns=1_120_000)
GELU = _elementwise("at::native::GeluCUDAKernelImpl(at::TensorIteratorBase &)", 2, usual_ns=62_000)
GELU_BACKWARD = _elementwise("at::native::GeluBackwardCUDAKernelImpl(at::TensorIteratorBase &)", 3, usual_ns=84_000)
GEMM_DATA_GRADIENT = _gemm("nn_n_tilesize128x128x64", usual_ns=1_180_000)
GEMM_WEIGHT_GRADIENT = _gemm("nt_n_tilesize128x256x64", usual_ns=1_230_000)
FLASH_BACKWARD = Kernel(
    name=(
        "void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel"
        f"<{_FLASH_BWD_TRAITS}, (bool)0, (bool)1, (bool)0, (bool)1>(flash::Flash_bwd_params)"
    ),
    short="flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel",
    usual_ns=1_050_000,
    grid=64,
    block=256,
    registers=255,
    shared_memory=147_456,
)
LAYER_NORM_BACKWARD = Kernel(
    name=(
        "void at::native::<unnamed>::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>"
        "(const T1 *, const T1 *, const T2 *, const T2 *, const T1 *, T1 *, int)"
    ),
    short="layer_norm_grad_input_kernel_vectorized",
    usual_ns=71_000,
    grid=8192,
    block=128,
)
CROSS_ENTROPY = Kernel(
    name=(
        "void at::native::<unnamed>::cunn_SoftMaxForward<(int)8, c10::BFloat16, float, float, "
        "at::native::<unnamed>::LogSoftMaxForwardEpilogue>(T4 *, const T2 *, int)"
    ),
    short="cunn_SoftMaxForward",
    usual_ns=240_000,
    grid=8192,
    block=1024,
)
ADD = _elementwise("at::native::CUDAFunctor_add<c10::BFloat16>", 3, usual_ns=34_000)
GRADIENT_NORM = _multi_tensor(1, "at::native::LpNormFunctor<float, at::native::NormType::L2, float>", usual_ns=190_000)
ADAM = _multi_tensor(4, "at::native::FusedAdamMathFunctor<float, (int)4, (bool)0>", usual_ns=880_000)

FORWARD_LAYER = (LAYER_NORM, GEMM_QKV, FLASH_FORWARD, GEMM_MLP, GELU)
BACKWARD_LAYER = (
    GELU_BACKWARD,
    GEMM_DATA_GRADIENT,
    GEMM_WEIGHT_GRADIENT,
    FLASH_BACKWARD,
    GEMM_WEIGHT_GRADIENT,
    LAYER_NORM_BACKWARD,
)

TOKENS = Copy(bytes=524_288, kind=HOST_TO_DEVICE, source=PINNED, target=DEVICE, usual_ns=21_000)
LABELS = Copy(bytes=524_288, kind=HOST_TO_DEVICE, source=PINNED, target=DEVICE, usual_ns=21_000)
PAGEABLE_FEATURES = Copy(bytes=8_388_608, kind=HOST_TO_DEVICE, source=PAGEABLE, target=DEVICE, usual_ns=1_310_000)
LOSS_VALUE = Copy(bytes=4, kind=DEVICE_TO_HOST, source=DEVICE, target=PAGEABLE, usual_ns=1_900)
CHECKPOINT_SHARD = Copy(bytes=33_554_432, kind=DEVICE_TO_HOST, source=DEVICE, target=PINNED, usual_ns=1_340_000)
ZERO_GRADIENTS = Memset(bytes=16_777_216, usual_ns=9_000)
