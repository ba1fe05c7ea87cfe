"""Function names out of demangled names, and what they count as: NCCL of all ages, other libraries, and look-alikes."""

from __future__ import annotations

import time

import pytest

from gapfinder.analysis.classify import Classifier, function_name
from gapfinder.analysis.hints import operation_hint
from gapfinder.errors import InputError


@pytest.mark.parametrize(
    ("demangled", "name"),
    [
        ("sm90_xmma_gemm_bf16bf16_tn_n", "sm90_xmma_gemm_bf16bf16_tn_n"),
        ("void a::b<c::d<4>, e>(int, f<g>)", "a::b"),
        ("void at::native::<unnamed>::nll_loss<float, long>(T1 *, const T1 *)", "at::native::{anonymous}::nll_loss"),
        ("(anonymous namespace)::fill(int)", "{anonymous}::fill"),
        ("void k<f(int)::[lambda(int) (instance 1)]>(T1)", "k"),
        ("void k<sum::operator()(at::It&)::{lambda(float, float)#1}, unsigned int>(T3)", "k"),
        ("void k<x::operator ()(at::It &)>(T3)", "k"),
        ("A::operator()(int) const", "A::{operator}"),
        ("void k<(1 > 0)>(int)", "k"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "ncclKernel_AllReduce_RING_LL_Sum_float"),
        ("", ""),
    ],
)
def test_function_name(demangled: str, name: str) -> None:
    assert function_name(demangled) == name


COMMUNICATION = [
    "ncclAllReduceRingLLKernel_sum_f32(ncclColl)",
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)",
    "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",
    "ncclSymDevKernel_AllGather_LL(ncclSymDevArgs)",
    "ncclSymkDevKernel_ReduceScatter_LDMC_Sum_bf16(ncclSymkDevArgs)",
    "void rcclGenericKernel<1, false>(ncclDevComm*)",
    "mscclKernel_Sum_float_LL_false(ncclDevComm*)",
    "void mscclpp::allreduce<int>(int*)",
    "nvshmemi_transfer_rma(int)",
    "void nvshmem_barrier_kernel<4>(int)",
    "void deep_ep::intranode::combine<__nv_bfloat16, 8>(int4*)",
    "void deep_ep::internode_ll::dispatch<true>(void*)",
    "void vllm::cross_device_reduce_1stage<half, 2>(vllm::RankData*)",
    "void sglang::cross_device_reduce_2stage<__nv_bfloat16, 8>(RankData*)",
    "void tensorrt_llm::kernels::oneShotAllReduceKernel<half, 8>(int)",
    "void tensorrt_llm::kernels::twoShotAllReduceKernel<half, 8>(int)",
    "void one_shot_all_reduce_kernel<float>(float**)",
    "void at::native::multimem_all_reduce_kernel<float, 16>(float*)",
    "void c10d::symmetric_memory::barrier_kernel(unsigned int**)",
]
COMPUTE = [
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(T3)",
    "void flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<64>>(Flash_fwd_params)",
    "void my_kernel<ncclFloat16>(ncclComm*)",
    "void cub::DeviceReduceSingleTileKernel<x>(int)",
    "syncclean_kernel",
    "void asyncclear<int>(int)",
    "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT",
]


@pytest.mark.parametrize("name", COMMUNICATION)
def test_p32_p38_p41_communication(name: str) -> None:
    assert Classifier().decide(name).is_communication


@pytest.mark.parametrize("name", COMPUTE)
def test_compute(name: str) -> None:
    assert not Classifier().decide(name).is_communication


def test_what_only_looks_like_communication_is_compute_and_said() -> None:
    decision = Classifier().decide("void moe::dispatch_tokens<8>(int)")
    assert (decision.is_communication, decision.looks_like_communication) == (False, True)


def test_a_bad_pattern_is_named() -> None:
    with pytest.raises(InputError, match=r"bad regular expression '\('"):
        Classifier(communication_patterns=["("])


@pytest.mark.parametrize("part", ["a<b>, ", "()", "symm_mem_", "(anonymous namespace)::", "operator<", "one_shot_"])
def test_a_long_name_is_decided_in_linear_time(part: str) -> None:
    """Ten times the length may not take a hundred times as long; the bound leaves room for a slow moment."""
    seconds = {}
    for count in (2_000, 20_000):
        started = time.process_time()
        Classifier().decide("void k<" + part * count)
        seconds[count] = time.process_time() - started
    assert seconds[20_000] < 40 * max(seconds[2_000], 0.002)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "AllReduce"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "SendRecv"),
        ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "unknown"),
    ],
)
def test_p34_p35_the_operation_in_a_name_is_a_hint_and_generic_says_none(name: str, hint: str) -> None:
    assert operation_hint(name) == hint
