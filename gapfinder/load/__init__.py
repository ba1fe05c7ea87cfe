"""Loads an nsys report into frames, however old, compressed or hostile the file is."""

from gapfinder.load.find import find_profiles
from gapfinder.load.large import LargeProfile, Whole, open_large
from gapfinder.load.limits import Limits
from gapfinder.load.profile import Profile
from gapfinder.load.reading import load_profile

__all__ = ["LargeProfile", "Limits", "Profile", "Whole", "find_profiles", "load_profile", "open_large"]
