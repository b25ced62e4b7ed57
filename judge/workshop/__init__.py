"""How the judge is made: training data, training, calibration and validation. The library never imports it."""
