"""What programs may ask and send, under ``/api/v1/``: the same rules as on the pages, as JSON."""
