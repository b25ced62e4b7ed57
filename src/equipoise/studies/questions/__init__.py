"""Multiple-choice questions: their neutral form, their adversarial variants, and the cities they represent."""
