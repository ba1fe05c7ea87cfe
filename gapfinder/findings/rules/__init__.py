"""The rules, one file each: a page that explains it, and a function from an analysis to a finding or None."""
