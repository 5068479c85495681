"""A local page for trying finished runs side by side: `uegr playground RUN [RUN...]`.

`opened.py`, `attacked.py` and `play.py` are functions from runs and texts to typed results; `page.py` shows them with
Gradio, an optional extra, and `server.py` serves the page on this machine alone.
"""
