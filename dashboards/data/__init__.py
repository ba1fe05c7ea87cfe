"""Opens prepared profiles and answers every question of the pages about them, with plain values."""
