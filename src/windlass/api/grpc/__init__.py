"""The wire: how commands and answers become messages, who answers them, and who asks."""
