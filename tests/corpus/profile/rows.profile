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
[law host-copy]
latency-s = 0
bandwidth-frac = 0.5
rows = 99999999999999999999
source = s
range = r
error-median = 1
error-p90 = 1
