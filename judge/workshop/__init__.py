"""Make the judge: training data, training, calibration and validation. The library never imports this package."""
