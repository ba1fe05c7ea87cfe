"""The interactive dashboard: it shows what `gapfinder` measured, and `gapfinder` does without it.

The tree is its pipeline: `store` keeps profiles, `data` opens them, `figures` and `components` draw, `pages` put those
together, `routes` answer the browser's own requests, `app` and `server` make it a website.
"""
