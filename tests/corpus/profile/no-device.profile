[law host-copy]
latency-s = 0
