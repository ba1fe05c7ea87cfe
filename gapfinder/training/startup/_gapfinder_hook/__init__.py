"""gapfinder's hook inside a training: marks steps and phases as NVTX ranges; standard library only, Python 3.9 on.

It imports itself relatively: it is a package of its own in a training, and a part of gapfinder for whoever checks it.
"""
