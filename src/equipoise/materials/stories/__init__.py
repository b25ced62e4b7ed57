"""The authored library under data/raw: stories, patients, contrasts and end-points."""
