[profile]
format = 1
device = d
derived = x
[device]
memory = 1 GiB
memory-bandwidth = 1 GB/s
bf16 = 1 TFLOP/s
intra-node = 1 GB/s
host = 1 GB/s
source = s
