"""The bot: a GitHub event in, comments and a pull request out. READ FIRST: handle.py."""
