"""The pages as somebody has them: in a real Chromium, from a server of its own."""
