"""Cases of other people's vignette studies, and the saved outputs of models that were asked about them."""
