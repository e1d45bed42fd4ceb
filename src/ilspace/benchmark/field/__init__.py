"""The field benchmark: whole tables of real domains, with few target labels or none."""
