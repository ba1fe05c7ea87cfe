"""Parts that several pages are made of: cards, tables, notices, legends."""
