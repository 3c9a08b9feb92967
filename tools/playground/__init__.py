"""The playground: a page with the simulator in it, which needs no other file and no server."""
