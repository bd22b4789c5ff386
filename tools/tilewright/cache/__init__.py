"""The content-hash cache: what one machine has made, found again by the digest of all that it was made from."""
