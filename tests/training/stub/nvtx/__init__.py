"""Stands for the nvtx package: writes each call as a line of JSON to the file NVTX_LOG."""


def enabled():
    return True
