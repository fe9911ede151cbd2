"""What a role's files are held against: each validator re-derives what it can and reads no claim where a fact is."""
