"""The one renderer of every page and every piece of Markdown that Tileport makes. READ FIRST: render.py."""
