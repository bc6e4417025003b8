"""Running a workload: the presets, the runner, its pace, its searches."""
