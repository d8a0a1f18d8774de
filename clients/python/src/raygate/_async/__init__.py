"""The asynchronous client; the blocking one is made of it."""
