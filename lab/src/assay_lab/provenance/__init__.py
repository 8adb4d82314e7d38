"""Provenance and licences on packages of known origin."""
