"""A strict check of job definitions for jenkins-job-builder, which is not strict itself."""
