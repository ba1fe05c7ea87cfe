"""What the dashboard keeps: uploaded files, prepared profiles and one database, in one folder that servers share."""
