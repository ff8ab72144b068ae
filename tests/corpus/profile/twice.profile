[profile]
format = 1
device = d
derived = x
[device]
[device]
