"""What a model wrote, read: sentences, reasoning, answers, letters and diagnoses."""
