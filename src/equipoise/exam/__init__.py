"""The exam: questions that stand for a city's burden of disease, drawn by prevalence."""
