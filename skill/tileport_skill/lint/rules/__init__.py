"""The rules, by what they are about; each states itself, its reason, and an example of either kind."""
