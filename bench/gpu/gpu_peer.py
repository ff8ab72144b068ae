#!/usr/bin/env python3
"""PyTorch's attention on this machine's GPU, for bench/gpu_kernels --peer=FILE.

A row a kernel and length: name, tokens of a sequence, median seconds of the
FLASH_ATTENTION back end, and of the fastest one there is.  16,384 tokens, 32
query heads, 8 key heads (repeated: the back end has no groups), 128 wide, bf16.
"""
import statistics
import sys

try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as error:
    sys.exit(f"gpu_peer.py: {error}")
if not torch.cuda.is_available():
    sys.exit("gpu_peer.py: no CUDA device")

TOKENS, HEADS, WIDTH, RUNS = 16384, 32, 128, 20


def median_s(run):
    seconds = []
    for i in range(RUNS + 3):
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        end.synchronize()
        if i >= 3:
            seconds.append(begin.elapsed_time(end) * 1e-3)
    return statistics.median(seconds)


def pair_s(backend, length):
    shape = (TOKENS // length, HEADS, length, WIDTH)
    q, k, v = (
        torch.randn(shape, device="cuda", dtype=torch.bfloat16).requires_grad_()
        for _ in range(3)
    )
    attend = torch.nn.functional.scaled_dot_product_attention
    with sdpa_kernel(backend):
        forward_s = median_s(lambda: attend(q, k, v, is_causal=True))
        out = attend(q, k, v, is_causal=True)
        grad = torch.randn_like(out)

        def backward():
            torch.autograd.grad(out, (q, k, v), grad, retain_graph=True)

        return forward_s, median_s(backward)


def main():
    print(f"# PyTorch {torch.__version__} on {torch.cuda.get_device_name()}")
    print("# name; tokens; seconds of FLASH_ATTENTION; of the fastest")
    for length in (4096, 8192, 16384):
        flash = pair_s(SDPBackend.FLASH_ATTENTION, length)
        every = [flash]
        for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION):
            try:
                every.append(pair_s(backend, length))
            except RuntimeError as error:
                print(f"# {backend}: {str(error).splitlines()[0]}")
        for i, name in enumerate(("attention", "attention_backward")):
            best = min(one[i] for one in every)
            print(f"{name}\t{length}\t{flash[i]:.6g}\t{best:.6g}")


main()
