"""What came of the requests, in numbers: samples, levels, quantiles, fits."""
