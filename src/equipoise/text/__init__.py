"""Read a model's text: sentences, reasoning, answers, letters and diagnoses."""
