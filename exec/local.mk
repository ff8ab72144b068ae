## Floor 4: executor.
