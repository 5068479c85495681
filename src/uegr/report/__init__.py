"""What people read: tables in the terminal, and a page."""
