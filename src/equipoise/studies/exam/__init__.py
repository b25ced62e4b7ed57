"""The exam: questions that represent a city's burden of disease, drawn by prevalence."""
