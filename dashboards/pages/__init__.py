"""The pages, each as `layout(view)` and `register(app, view)`."""
