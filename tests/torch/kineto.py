# Writes tests/data/kineto/cpu.json: ops under the profiler of PyTorch (2.3.1) on
# a CPU.  Usage: kineto.py FILE
import json, sys, torch
from torch.profiler import profile, ProfilerActivity
torch.manual_seed(0); torch.set_num_threads(1)
x = torch.randn(64, 32); w = torch.randn(32, 48); b = torch.randn(48)
q = torch.randn(4, 16, 8); g = torch.randn(48); h = torch.randn(64, 48)
table = torch.nn.Embedding(100, 16)
for warm in range(2):
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as p:
        for i in range(1):
            torch.mm(x, w)
            torch.addmm(b, x, w)
            torch.bmm(q, q.transpose(1, 2))
            torch.nn.functional.layer_norm(h, (48,), g)
            h + h
            table(torch.arange(10))
            torch.nn.functional.linear(x, w.t().contiguous(), b)
p.export_chrome_trace(sys.argv[1])
