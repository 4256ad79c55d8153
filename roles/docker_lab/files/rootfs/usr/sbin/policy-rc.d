#!/bin/sh
# Installing a package starts nothing: only the lab starts a server under test.
exit 101
