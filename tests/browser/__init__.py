"""The pages in a real Chromium, from a server of their own."""
