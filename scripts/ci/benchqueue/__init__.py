"""The queue of benches: how Buildbot's objects are made of the file of a site."""
